"""The embedder minilm: what its vectors promise, and what it says when it cannot give any."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.embedders.lore import DATA as LORE_DATA
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, ModelNotFound
from forgelore.words import Passage
from forgelore_minilm import model as minilm
from forgelore_minilm.model import DATA, DIMENSION, TITLE_SHARE, MiniLM

CRASH = Passage("Wallet crashes on startup", "The window opens, then bitcoin-qt dies with a segmentation fault.")
SAME_CRASH = Passage("Segfault when opening the wallet", "It ends right after the start, nothing in the log.")
COLOUR = Passage("Use a lighter grey in the settings dialog", "The labels are hard to read on a dark theme.")
PASSAGES = [CRASH, SAME_CRASH, COLOUR, Passage("Typo", ""), Passage("", "only a text, without any title")]


@pytest.fixture(scope="module")
def embedder():
    made = MiniLM()
    yield made
    made.close()


def test_vectors_are_float32_rows_of_unit_length(embedder):
    vectors = embedder.embed_passages(PASSAGES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(PASSAGES), DIMENSION)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(embedder.embed_query("crash")) == pytest.approx(1, abs=1e-5)


def test_no_passages_give_no_vectors(embedder):
    assert embedder.embed_passages([]).shape == (0, DIMENSION)


def test_a_vector_does_not_depend_on_the_passages_beside_it(embedder):
    """int8 scales are found at run time: in a padded batch they would be those of the whole batch."""
    together = embedder.embed_passages(PASSAGES)
    assert np.array_equal(together, np.vstack([embedder.embed_passages([passage]) for passage in PASSAGES]))
    assert np.array_equal(together, embedder.embed_passages(PASSAGES[::-1])[::-1])


def test_a_vector_does_not_depend_on_the_number_of_threads(embedder, monkeypatch):
    expected = embedder.embed_passages(PASSAGES)
    for threads in (1, 5):
        monkeypatch.setattr(minilm, "_threads", lambda threads=threads: threads)
        assert np.array_equal(embedder.embed_passages(PASSAGES), expected)


def test_a_closed_embedder_loads_again_and_gives_the_same(embedder):
    other = MiniLM()
    first = other.embed_query("crash")
    other.close()
    assert np.array_equal(other.embed_query("crash"), first)
    assert np.array_equal(embedder.embed_query("crash"), first)


def test_texts_about_the_same_thing_are_nearer(embedder):
    crash, same, colour = embedder.embed_passages([CRASH, SAME_CRASH, COLOUR])
    assert crash @ same > max(crash @ colour, same @ colour) + 0.2
    query = embedder.embed_query("program dies with segfault")
    assert query @ crash > query @ colour + 0.2


def test_a_passage_is_its_title_and_its_whole_text_mixed(embedder):
    title, text = CRASH
    mixed = TITLE_SHARE * embedder.embed_query(title) + (1 - TITLE_SHARE) * embedder.embed_query(f"{title}\n{text}")
    assert embedder.embed_passages([CRASH])[0] == pytest.approx(mixed / np.linalg.norm(mixed), abs=1e-6)


def test_a_passage_with_one_part_is_that_part(embedder):
    title_only, text_only = embedder.embed_passages([Passage("Typo in README", " \n"), Passage("", "Typo in README")])
    assert title_only == pytest.approx(embedder.embed_query("Typo in README"), abs=1e-6)
    assert text_only == pytest.approx(title_only, abs=1e-6)


@pytest.mark.parametrize("nothing", ["", " \n\t", "\u200b\u200d", "\0"])
def test_a_text_without_anything_to_embed_is_a_zero_vector(embedder, nothing):
    assert not embedder.embed_passages([Passage(nothing, nothing)]).any()
    assert not np.any(embedder.embed_query(nothing))


def test_a_megabyte_is_cut_to_its_beginning(embedder):
    sentence = "the node stops answering after a while "
    long, longer = embedder.embed_passages([Passage("Hang", sentence * 200), Passage("Hang", sentence * 26_000)])
    assert np.array_equal(long, longer)
    assert np.isfinite(embedder.embed_query("x" * 1_000_000)).all()


@settings(max_examples=25, deadline=None)
@given(title=st.text(st.characters(exclude_categories=())), text=st.text(st.characters(exclude_categories=())))
def test_any_text_gives_a_unit_or_a_zero_vector(embedder, title, text):
    """Half a surrogate pair included: the tokenizer cannot take it, and a tracker can send it."""
    (vector,) = embedder.embed_passages([Passage(title, text)])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) or not vector.any()


def test_the_fingerprint_names_the_model_and_the_rules():
    sums = json.loads((pathlib.Path(DATA) / "manifest.json").read_text(encoding="utf-8"))
    assert MiniLM().fingerprint() == f"minilm:{sums['model_sha256'][:12]}:{minilm.RULES}"


def test_making_one_and_asking_its_fingerprint_loads_no_library():
    code = (
        "import sys; from forgelore_minilm.model import MiniLM; MiniLM().fingerprint()\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_embedding_writes_nothing_to_the_terminal():
    """onnxruntime warns about graphics cards, tokenizers about forks; neither is the user's business."""
    code = "from forgelore_minilm.model import MiniLM; MiniLM().embed_query('crash')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.fixture
def copied_data(tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    return folder


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
def test_a_missing_file_is_named_with_what_to_do(copied_data, name):
    (copied_data / name).unlink()
    with pytest.raises(ModelNotFound, match=name) as caught:
        MiniLM(str(copied_data)).embed_query("crash")
    assert "pip install" in caught.value.hint


def test_one_changed_byte_of_the_model_is_noticed(copied_data):
    with open(copied_data / "model.onnx", "r+b") as file:
        file.seek(12_000_000)
        byte = file.read(1)
        file.seek(12_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelNotFound, match=r"model\.onnx of the built-in embedder is missing or damaged"):
        MiniLM(str(copied_data)).embed_passages([CRASH])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\udcff"])
def test_a_damaged_manifest_is_named(copied_data, text):
    (copied_data / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ModelNotFound, match=r"manifest\.json"):
        MiniLM(str(copied_data)).fingerprint()


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_a_library_that_is_not_there_is_named_with_how_to_install_it(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)  # what makes Python say ImportError
    with pytest.raises(EmbedderUnreachable, match=library) as caught:
        MiniLM().embed_passages([CRASH])
    assert "pip install onnxruntime tokenizers" in caught.value.hint


@pytest.mark.parametrize(("name", "key"), [("model.onnx", "model_sha256"), ("tokenizer.json", "tokenizer_sha256")])
def test_a_file_that_the_libraries_cannot_read_is_no_traceback(copied_data, name, key):
    """As with libraries older than the model."""
    (copied_data / name).write_bytes(b"from the future")
    manifest = json.loads((copied_data / "manifest.json").read_bytes())
    manifest[key] = hashlib.sha256(b"from the future").hexdigest()
    (copied_data / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(EmbedderUnreachable, match="cannot read the built-in model") as caught:
        MiniLM(str(copied_data)).embed_query("crash")
    assert "--upgrade" in caught.value.hint


def test_a_text_that_the_network_refuses_is_no_traceback(monkeypatch):
    monkeypatch.setattr(minilm, "MAX_TOKENS", 600)  # there are places for 512
    with pytest.raises(EmbeddingFailed, match="the built-in model failed"):
        MiniLM().embed_query("word " * 700)


def test_the_manifest_holds_the_sums_of_the_files():
    manifest = json.loads((pathlib.Path(DATA) / "manifest.json").read_text(encoding="utf-8"))
    for name, key in (("model.onnx", "model_sha256"), ("tokenizer.json", "tokenizer_sha256")):
        assert hashlib.sha256((pathlib.Path(DATA) / name).read_bytes()).hexdigest() == manifest[key]
    assert manifest["dimension"] == DIMENSION


def test_the_manifest_says_how_the_weights_were_tuned():
    """The same run made lore's table: same text, same settings of the tuning, same machine."""
    manifest = json.loads((pathlib.Path(DATA) / "manifest.json").read_text(encoding="utf-8"))
    lore = json.loads((pathlib.Path(LORE_DATA) / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["weights_sha256"] == lore["data"]["inputs"]["teacher"]
    tuned = manifest["tuned"]
    assert tuned["data_sha256"] == lore["data"]["inputs"] | lore["data"]["outputs"]
    assert (tuned["settings"], tuned["seed"], tuned["versions"]) == (lore["tuning"], lore["seed"], lore["versions"])
    assert all(len(found) == 64 for found in tuned["weights_sha256"].values())


def test_the_weights_come_with_licence_and_notice():
    assert "Apache License" in (pathlib.Path(DATA) / "LICENSE").read_text(encoding="utf-8")
    notice = (pathlib.Path(DATA) / "NOTICE").read_text(encoding="utf-8")
    assert "all-MiniLM-L6-v2" in notice
    assert "Changed by the forgelore authors" in notice, "Apache-2.0 asks for it, section 4 b"
    assert os.path.getsize(os.path.join(DATA, "model.onnx")) < 24_000_000
