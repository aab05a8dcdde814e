"""Documents cut into spans that get one vector each."""

from hypothesis import given
from hypothesis import strategies as st

from forgelore.index.cleaning import build_chunks, clean_line, kept_lines

SIZES = st.integers(1, 80)
PROSE = st.lists(st.text("abc éß", max_size=60), max_size=12).map("\n".join)


def squeezed(text):
    return "".join(text.split())


@given(text=PROSE, size=SIZES)
def test_splitting_into_chunks_loses_no_characters(text, size):
    """But blanks, and lines that are not worth a vector: which these are is the matter of `cleaning`."""
    kept = "".join(clean_line(text[start:end]) for start, end in kept_lines(text))
    chunks = build_chunks("title", text, max_chars=size)
    assert squeezed("".join(chunk.passage.text for chunk in chunks)) == squeezed(kept)


@given(text=st.text(max_size=400), size=SIZES)
def test_no_chunk_holds_more_than_it_may(text, size):
    assert max(len(chunk.passage.text) for chunk in build_chunks("t", text, max_chars=size)) <= size


@given(text=st.text(max_size=400), size=SIZES)
def test_spans_follow_each_other_within_the_text(text, size):
    chunks = build_chunks("t", text, max_chars=size)
    places = [place for chunk in chunks for place in (chunk.start, chunk.end)]
    assert places == sorted(places)
    assert places[0] >= 0
    assert places[-1] <= len(text)


@given(text=PROSE, size=SIZES)
def test_the_span_of_a_chunk_holds_its_text(text, size):
    for chunk in build_chunks("t", text, max_chars=size):
        assert set(squeezed(chunk.passage.text)) <= set(text[chunk.start : chunk.end])


@given(title=st.text(max_size=20), text=st.text(max_size=200), size=SIZES)
def test_every_document_has_a_chunk_and_every_chunk_the_title(title, text, size):
    chunks = build_chunks(title, text, max_chars=size)
    assert [chunk.passage.title for chunk in chunks] == [title] * len(chunks)
    assert chunks


def test_lines_stay_together_while_they_fit():
    chunks = build_chunks("T", "one\ntwo\nthree\n", max_chars=8)
    assert [chunk.passage.text for chunk in chunks] == ["one\ntwo", "three"]
