"""The training scripts, the whole way in small: tune, distil, test, export, and the product reads what came out."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forgelore.embedders import lore
from forgelore_minilm import model

ROOT = Path(__file__).resolve().parents[1]
TRAINING = ROOT / "training"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One run for all claims: a fold and what ships, by the code that trains the shipped table."""
    output = tmp_path_factory.mktemp("trained")
    run("train.py", "--tiny", "--output", output, "--folds", "hadoop", "--seeds", "1", "--all-seeds", "1,2")
    return output


def run(script, *options):
    done = subprocess.run([sys.executable, TRAINING / script, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def ranks(trained, model, **facts):
    runs = json.loads((trained / "results.json").read_text())["runs"]
    return [
        rank
        for run in runs
        if run["model"] == model and all(run.get(key) == value for key, value in facts.items())
        for rank in run["ranks"]["issue"]["alone"]
    ]


def share_in_ten(found):
    return sum(rank is not None and rank <= 10 for rank in found) / len(found)


def test_the_student_finds_duplicates_of_a_tracker_it_never_saw(trained):
    # 120 candidates or more: by chance one of ten would be among the first ten.
    assert share_in_ten(ranks(trained, "lore", tracker="hadoop", fold="hadoop")) > 0.6


def test_tuning_without_labels_does_not_harm_the_teacher(trained):
    tuned = share_in_ten(ranks(trained, "tuned teacher", tracker="hadoop", fold="hadoop"))
    assert tuned >= share_in_ten(ranks(trained, "teacher", tracker="hadoop")) - 0.02


def test_a_second_training_run_is_as_good_as_the_first(trained):
    first, second = (share_in_ten(ranks(trained, "lore", fold="all", seed=seed)) for seed in (1, 2))
    assert abs(first - second) < 0.1


def test_the_results_say_how_they_were_made(trained):
    results = json.loads((trained / "results.json").read_text())
    assert {"recipe", "recipes", "tuning", "versions", "seconds"} <= results.keys()
    assert results["recipe"] in results["recipes"]


def test_what_is_exported_is_what_the_product_reads(trained, tmp_path):
    vocabulary = ["[UNK]", *(f"word{number}" for number in range(1, 2_000))]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (tmp_path / "data.json").write_text("{}")
    options = ["--results", trained / "results.json", "--data", tmp_path / "data.json", "--output", tmp_path]
    run("export.py", trained / "table_1.npz", *options)
    table = lore.load_table(str(tmp_path))
    with np.load(trained / "table_1.npz") as found:
        assert np.array_equal(table.codes, found["codes"])
        assert np.array_equal(table.scales, found["scales"])
    embedder = lore.LoreEmbedder(str(tmp_path))
    assert embedder.fingerprint().startswith("lore:")
    assert np.isclose(np.linalg.norm(embedder.embed_query("word7")), 1, atol=1e-5)


def test_the_product_makes_the_vectors_that_training_tested(trained, tmp_path, monkeypatch):
    """Same pieces, same table: the student's vector and the product's are one."""
    monkeypatch.syspath_prepend(str(TRAINING))
    data, student, torch = (importlib.import_module(name) for name in ("data", "student", "torch"))
    shutil.copytree(lore.DATA, tmp_path, dirs_exist_ok=True)
    table = lore.load_table(str(tmp_path))
    ids = table.pieces.ids("the wallet of the wallet crashes the node", limit=99)
    row = data.Data(torch.tensor(ids, dtype=torch.int32), *([torch.zeros(1, dtype=torch.long)] * 5), [])
    slices = data.Slices(torch.tensor([0]), torch.tensor([len(ids)]))
    dense = torch.tensor(table.codes.astype(np.float32) * table.scales[:, None])
    (found,) = student.embed_all(dense, data.Bags(row, slices, limit=600, power=lore.POWER)).numpy()
    assert np.allclose(found, table.vector(ids), atol=1e-5)


def test_the_teacher_is_the_published_network(monkeypatch):
    """Weights that go to the published names and back are the same network."""
    monkeypatch.syspath_prepend(str(TRAINING))
    teacher, torch = (importlib.import_module(name) for name in ("teacher", "torch"))
    one = teacher.Teacher(teacher.Shape(vocabulary=50, width=16, layers=2, heads=2, inner=32, positions=20)).eval()
    other = teacher.Teacher(teacher.Shape(vocabulary=50, width=16, layers=2, heads=2, inner=32, positions=20)).eval()
    other.load_state_dict(
        {name: torch.tensor(array) for name, array in teacher.renamed(teacher.published(one)).items()}
    )
    ids, lengths = torch.tensor([[1, 7, 9, 2], [1, 8, 2, 0]]), torch.tensor([4, 3])
    with torch.no_grad():
        assert torch.allclose(one(ids, lengths), other(ids, lengths), atol=1e-6)
        assert torch.allclose(one(ids, lengths)[1], one(ids[1:, :3], lengths[1:])[0], atol=1e-6), "padding is not seen"


def test_the_tuned_teachers_are_kept_for_the_package_of_minilm(trained):
    """scripts/minilm.py reads these parts: of what ships, and of each fold."""
    for folder in (trained, trained / "hadoop"):
        parts = [dict(np.load(folder / f"tuned_{part}.npz")) for part in (1, 2, 3, 4)]
        assert len(parts[0]["first"]) + len(parts[1]["second"]) == 2_000
        assert "encoder.layer.0.attention.self.query.weight" in {**parts[2], **parts[3]}


def test_minilm_in_int8_is_tested_with_the_vectors_that_its_package_gives(monkeypatch):
    monkeypatch.syspath_prepend(str(TRAINING))
    data, int8, torch = (importlib.import_module(name) for name in ("data", "int8", "torch"))
    text = "the wallet crashes on startup"
    ids = lore.load_table().pieces.ids(text, limit=99)
    row = data.Data(torch.tensor(ids, dtype=torch.int32), *([torch.zeros(1, dtype=torch.long)] * 5), [])
    network = int8.Network(str(Path(model.DATA) / "model.onnx"))
    (found,) = network.embed(row, data.Slices(torch.tensor([0]), torch.tensor([len(ids)]))).numpy()
    assert np.array_equal(found, model.MiniLM().embed_query(text))
