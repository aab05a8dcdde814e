"""The embedder `lore`: the packaged table, its rules, and its word pieces against the reference tokenizer."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from forgelore.embedders import lore
from forgelore.embedders.lore import LoreEmbedder, WordPieces
from forgelore.errors import ModelNotFound
from forgelore.index.cleaning import clean
from forgelore.words import Passage

TEXTS = (
    "Crash when opening the wallet",
    "don't panic: C++ std::vector<int>::at() threw std::out_of_range [SEP]",
    "Ünïcödé, naïve café; İstanbul ΣΟΦΟΣ straße ﬁne",
    "日本語のタイトル and English, 한국어, हिन्दी, العربية",
    "tabs\tand\r\nnew\x0blines\x0c, zero\u200bwidth, nbsp\xa0, \x00nul, \x1b[31mred\x1b[0m, sep\u2028line",
    "emoji 🙂👩‍💻 and → arrows … “quotes” – dashes — €",
    "x" * 101 + " " + "y" * 100 + " antidisestablishmentarianism",
    "",
    " \n ",
)


@pytest.fixture(scope="module")
def embedder():
    return LoreEmbedder()


@pytest.fixture(scope="module")
def pieces():
    with open(os.path.join(lore.DATA, "vocab.txt"), encoding="utf-8") as file:
        return WordPieces(file.read())


@pytest.fixture(scope="module")
def reference():
    """BERT's rules as a native library has them, over our vocabulary."""
    with open(os.path.join(lore.DATA, "vocab.txt"), encoding="utf-8") as file:
        rows = {piece: row for row, piece in enumerate(file.read().rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(models.WordPiece(rows, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def test_word_pieces_are_those_of_the_reference(pieces, reference):
    for text in TEXTS:
        assert pieces.ids(text, limit=10_000) == reference(text), text


def test_word_pieces_of_the_demo_are_those_of_the_reference(pieces, reference):
    path = os.path.join(os.path.dirname(lore.__file__), "..", "data", "demo.jsonl")
    with open(path, encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    for item in items[:150]:
        text = f"{item['title']}\n{item['body']}"
        for said in (text, clean(text)):
            assert pieces.ids(said, limit=100_000) == reference(said)


# Characters whose kind is as old as the reference's tables (Unicode 8); two have changed it since.
_OLD = st.characters(
    max_codepoint=0x2BFF, exclude_categories=("Cs", "Mn", "Po", "Cf", "Cn"), exclude_characters="\u166d\u1734"
) | st.sampled_from("\u0301\u0308\u200b\u200d\ufeff\ufffd。、「」٪¿·日本한")


@given(st.text(_OLD))
def test_any_text_is_cut_as_the_reference_cuts_it(pieces, reference, text):
    assert pieces.ids(text, limit=100_000) == reference(text)


@given(st.text())
def test_any_text_at_all_gives_rows_of_the_table(pieces, text):
    ids = pieces.ids(text, limit=50)
    assert len(ids) <= 50
    assert all(0 <= row < len(pieces) for row in ids)


def test_a_limit_keeps_the_beginning(pieces):
    whole = pieces.ids(TEXTS[0], limit=100)
    assert pieces.ids(TEXTS[0], limit=3) == whole[:3]


def test_words_are_forgotten_before_they_fill_the_memory(pieces, monkeypatch):
    monkeypatch.setattr("forgelore.embedders.lore._REMEMBERED", 3)
    before = pieces.ids("alpha beta gamma delta epsilon", limit=100)
    assert pieces.ids("alpha beta gamma delta epsilon", limit=100) == before


def test_control_tokens_in_a_text_are_text(pieces):
    assert pieces.ids("[SEP]", limit=9) == pieces.ids("[ sep ]", limit=9)


def test_vectors_have_length_one_and_do_not_depend_on_the_batch(embedder):
    passages = [Passage(text[:60], text) for text in TEXTS]
    together = np.asarray(embedder.embed_passages(passages))
    alone = np.concatenate([np.asarray(embedder.embed_passages([passage])) for passage in passages])
    assert together.shape == (len(TEXTS), 384)
    assert together.dtype == np.float32
    assert np.array_equal(together, alone)
    lengths = np.linalg.norm(together, axis=1)
    assert np.allclose(lengths[:7], 1, atol=1e-5)


def test_nothing_to_embed_is_a_vector_of_zeros(embedder):
    assert not np.any(embedder.embed_passages([Passage("", ""), Passage(" ", "\n\u200b")]))
    assert not np.any(embedder.embed_query(""))
    assert np.asarray(embedder.embed_passages([])).shape == (0, 384)


def test_a_passage_is_three_tenths_title_and_seven_tenths_everything(embedder):
    title, text = "Wallet crash", "It crashes when the wallet is encrypted and the wallet is large."
    mixed = 0.3 * np.asarray(embedder.embed_query(title)) + 0.7 * np.asarray(embedder.embed_query(f"{title}\n{text}"))
    (found,) = np.asarray(embedder.embed_passages([Passage(title, text)]))
    assert np.allclose(found, mixed / np.linalg.norm(mixed), atol=1e-6)


def test_a_vector_is_the_sum_of_rows_by_the_fourth_root_of_how_often_they_stand_there(embedder):
    table = lore.load_table()
    rows = table.pieces.ids("fee fee fee fee rate", limit=9)
    wanted = sum(
        table.codes[row].astype(np.float64) * table.scales[row] * rows.count(row) ** 0.25 for row in dict.fromkeys(rows)
    )
    assert np.allclose(embedder.embed_query("fee fee fee fee rate"), wanted / np.linalg.norm(wanted), atol=1e-5)


def test_alike_is_near_and_other_is_far(embedder):
    def near(one, other):
        return float(np.dot(embedder.embed_query(one), embedder.embed_query(other)))

    said = "The program crashes when it starts"
    assert near(said, "segfault on startup") > near(said, "Update the translation of the website") + 0.15


def test_a_megabyte_is_read_at_its_beginning_only(embedder):
    text = "wallet crash " * 80_000
    assert np.isfinite(embedder.embed_query(text)).all()


def test_the_table_is_small_and_its_sums_are_those_of_the_manifest():
    with open(os.path.join(lore.DATA, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for name, key in (("table.bin", "table_sha256"), ("vocab.txt", "vocab_sha256")):
        with open(os.path.join(lore.DATA, name), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == manifest[key]
    assert os.path.getsize(os.path.join(lore.DATA, "table.bin")) <= 12_000_000


def test_the_fingerprint_names_the_table_and_the_rules(embedder):
    name, table, rules = embedder.fingerprint().split(":")
    assert (name, rules) == ("lore", lore.RULES)
    assert lore.load_sum().startswith(table)


@pytest.mark.parametrize("harm", ["cut", "magic", "gone", "vocabulary"])
def test_a_damaged_file_is_named(tmp_path, harm):
    folder = tmp_path / "data"
    shutil.copytree(lore.DATA, folder)
    table = folder / "table.bin"
    if harm == "cut":
        os.truncate(table, 1_000_000)
    elif harm == "magic":
        table.write_bytes(b"x" * 16 + table.read_bytes()[16:])
    elif harm == "gone":
        table.unlink()
    else:
        (folder / "vocab.txt").write_text("[UNK]\nthe\n")
    with pytest.raises(ModelNotFound, match="missing or damaged"):
        LoreEmbedder(str(folder)).embed_query("x")


def test_a_missing_manifest_is_named(tmp_path):
    with pytest.raises(ModelNotFound, match=r"manifest\.json"):
        LoreEmbedder(str(tmp_path)).fingerprint()


def test_nothing_heavy_is_imported_before_the_first_vector_and_only_numpy_then():
    code = (
        "import sys; from forgelore.embedders.lore import LoreEmbedder; one = LoreEmbedder(); one.fingerprint();"
        "assert 'numpy' not in sys.modules; one.embed_query('x');"
        "print([name for name in ('tokenizers', 'onnxruntime', 'huggingface_hub', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_closing_lets_go_and_the_next_call_loads_again():
    one = LoreEmbedder()
    before = np.asarray(one.embed_query("x"))
    one.close()
    assert np.array_equal(before, one.embed_query("x"))
