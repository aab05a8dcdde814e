"""The page of a run: what it counts is never more than there is."""

import re

from hypothesis import given
from hypothesis import strategies as st

from forgelore.surfaces.present.triage import build_summary
from forgelore.triage.bot import BotResult
from forgelore.triage.intake import Coverage

COVERAGES = st.builds(Coverage, st.integers(0, 5_000), st.none() | st.integers(0, 5_000), st.booleans())


@given(COVERAGES)
def test_no_more_items_are_known_than_there_are(coverage):
    """A forge may count fewer items than its lists hold: that total is not told."""
    said = build_summary(BotResult("issues", coverage=coverage), 0)
    for known, total, share in re.findall(r"(\d+) of (\d+) \((\d+) %\)", said):
        assert int(known) <= int(total)
        assert int(share) <= 100
    assert str(coverage.known) in said
