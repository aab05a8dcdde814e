"""Text from strangers: what may be stored, and what may reach a terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.fence import folded, printable, storable
from forgelore.text.values import content_hash

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))  # lone surrogates and NUL included


@given(ANY_TEXT)
def test_storable_text_can_always_be_encoded_and_keeps_its_length(text):
    stored = storable(text)
    stored.encode("utf-8")
    assert "\0" not in stored
    assert len(stored) == len(text)


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0")))
def test_ordinary_text_is_stored_as_it_is(text):
    assert storable(text) == text


@given(ANY_TEXT)
def test_printed_text_holds_no_control_character_but_newline_and_tab(text):
    shown = printable(text)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]


def test_escape_sequences_and_direction_overrides_are_defused():
    assert "\x1b" not in printable("\x1b]0;owned\x07")
    assert "\u202e" not in printable("abc\u202egpj.exe")
    assert printable("a\r\nb") == "a\nb"


def test_the_content_hash_ignores_line_endings_and_nothing_else():
    assert content_hash("issue", "t", "a\r\nb") == content_hash("issue", "t", "a\nb")
    assert content_hash("issue", "t", "ab") != content_hash("issue", "ta", "b")
    assert content_hash("issue", "t", None) != content_hash("change", "t", None)


@given(ANY_TEXT)
def test_blanks_spelling_of_accents_and_what_cannot_be_seen_are_folded_away(text):
    apart = unicodedata.normalize("NFD", text)
    assert folded(apart) == folded(unicodedata.normalize("NFC", text))
    assert folded(f"  {text}\r\n\ufeff") == folded(text)
    assert "  " not in folded(text)
