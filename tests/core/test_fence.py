"""The fence around text of strangers: nothing inside can end it, and nothing unseen stays."""

import re

from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.fence import fence_alone, fence_in, name_fence, seen

NAME = name_fence("9f3c21ab9f3c21ab")
_PIECES = st.sampled_from(
    [
        NAME,
        NAME.upper(),
        NAME[:-1],
        "b",
        f"</{NAME}>",
        f"<{NAME}>",
        "</tool>",
        "</",
        ">",
        "forge-text-",
        "\n",
        "\x1b[2J",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=3), max_size=8))
def test_a_text_cannot_end_its_fence(parts):
    shown = fence_in("".join(parts), NAME, "item issue 5")
    first, *inside, last = shown.split("\n")
    assert (first, last) == (f"<{NAME} item issue 5>", f"</{NAME}>")
    assert NAME not in "\n".join(inside).lower()


@given(st.text(max_size=40), st.integers(0, 3))
def test_a_text_that_holds_the_name_made_from_it_gets_another_one(text, again):
    for _ in range(again):
        text += fence_alone(text)
    shown = fence_alone(text)
    name = re.match(r"<(forge-text-[0-9a-f]+)>\n", shown)[1]
    assert shown.count(name) == 2
    assert shown.endswith(f"\n</{name}>")


def test_what_nobody_sees_is_replaced():
    hidden = "a\x1b]0;title\x07b\u202ec\U000e0041\U000e0042\r\nd"
    assert seen(hidden) == "a\ufffd]0;title\ufffdb\ufffdc\ufffd\ufffd\nd"
    assert "\U000e0041" not in fence_in(hidden, NAME)
