"""Nodes asked for by their ids: whatever the forge leaves out, each place has a node or a reason, and asking ends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.errors import ForgeError
from forgelore.forges.github.graph import FEW, NO_REASON, MissingNode, NodeFetcher, ask_for_all, read_nodes

sizes = st.integers(1, 100)


def forge(heavy=(), silent=(), forbidden=()):
    """A forge that breaks down over a batch with a heavy node; returns how to ask it, and the sizes of its batches."""
    asked = []

    def ask(ids):
        asked.append(len(ids))
        if set(ids) & set(heavy):
            raise ForgeError("HTTP 502")
        rows = [None if one in silent or one in forbidden else {"number": one} for one in ids]
        errors = [
            {"type": "FORBIDDEN", "path": ["nodes", place], "message": "no"}
            for place, one in enumerate(ids)
            if one in forbidden
        ]
        return read_nodes({"nodes": rows}, errors, len(ids))

    return ask, asked


@settings(max_examples=200, deadline=None)
@given(count=sizes, data=st.data())
def test_one_heavy_node_is_found_and_the_others_come(count, data):
    ids = [str(number) for number in range(count)]
    heavy = data.draw(st.sampled_from(ids))
    ask, _ = forge(heavy={heavy})
    found = ask_for_all(ask, ids)
    assert [one for one, node in zip(ids, found, strict=True) if isinstance(node, MissingNode)] == [heavy]
    assert found[ids.index(heavy)].reason == "HTTP 502"


@settings(max_examples=200, deadline=None)
@given(count=sizes, data=st.data())
def test_every_place_has_its_node_or_its_reason_and_asking_ends(count, data):
    ids = [str(number) for number in range(count)]
    draw = lambda: data.draw(st.sets(st.sampled_from(ids)))  # noqa: E731
    heavy, silent, forbidden = draw(), draw(), draw()
    ask, asked = forge(heavy, silent, forbidden)
    found = ask_for_all(ask, ids)
    for one, node in zip(ids, found, strict=True):
        if isinstance(node, MissingNode):
            assert node.reason
            assert heavy or one in silent | forbidden
        else:
            assert node == {"number": one}
    assert len(asked) <= 2 * count + 1


@given(count=sizes, error=st.sampled_from(["heavy", "silent", "forbidden"]))
def test_a_batch_of_nothing_costs_a_handful(count, error):
    ids = [str(number) for number in range(count)]
    ask, asked = forge(**{error: set(ids)})
    assert all(isinstance(node, MissingNode) for node in ask_for_all(ask, ids))
    assert len(asked) <= {"heavy": 9, "silent": 2, "forbidden": 1}[error]


def test_the_reason_is_the_forges_own():
    errors = [
        {"type": "FORBIDDEN", "path": ["nodes", 1], "message": "Resource not accessible"},
        {"type": "RESOURCE_LIMITS_EXCEEDED", "path": ["nodes", 3, "files"], "message": "too much"},
    ]
    nodes = [{"number": 1}, None, None, {"number": 4}]
    assert read_nodes({"nodes": nodes}, errors, 4) == [
        {"number": 1},
        MissingNode("FORBIDDEN: Resource not accessible", "FORBIDDEN"),
        MissingNode(NO_REASON),
        MissingNode("RESOURCE_LIMITS_EXCEEDED: too much", "RESOURCE_LIMITS_EXCEEDED"),
    ]
    assert (
        read_nodes({"nodes": None}, [{"message": "Something went wrong"}], 2)
        == [MissingNode("Something went wrong")] * 2
    )
    assert read_nodes({"nodes": [{"number": 1}]}, [], 2) == [MissingNode(NO_REASON)] * 2, (
        "nobody knows whose place that is"
    )


def test_one_node_among_many_keeps_everybody_asking():
    sight = NodeFetcher()
    for number in range(10 * FEW):
        ask, _ = forge(silent=() if number % FEW == 0 else {"1"})
        sight.look(ask, ["1"])
    assert sight.lost is None
    ask, asked = forge(forbidden={"1"})
    for _ in range(FEW + 5):
        (node,) = sight.look(ask, ["1"])
    assert len(asked) <= FEW
    assert node.is_refused
    assert not node.is_asked
