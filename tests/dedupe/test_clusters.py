"""core/dedupe: clusters stay within their bound, the canonical ignores the order, plans close nothing they must not."""

import random

from hypothesis import given
from hypothesis import strategies as st

from forgelore.dedupe.clusters import (
    ClusterItem,
    Edge,
    apply_overrides,
    choose_canonical,
    cluster_edges,
    copy_edges,
    is_english,
    plan_cluster,
)
from forgelore.dedupe.reasons import ReasonCode
from forgelore.records import HumanDecision

pairs = st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(0, 2))
edges = st.lists(pairs, max_size=25).map(lambda each: [Edge(one, two, 0.85 + at / 20) for one, two, at in each])


@given(edges, st.integers(2, 8), st.integers(0, 99))
def test_no_cluster_is_larger_than_the_bound_whatever_the_order(found, bound, seed):
    clusters, _ = cluster_edges(found, bound=bound)
    assert all(2 <= len(one) <= bound for one in clusters)
    members = [item for one in clusters for item in one]
    assert len(members) == len(set(members))
    shuffled = list(found)
    random.Random(seed).shuffle(shuffled)
    assert cluster_edges(shuffled, bound=bound)[0] == clusters


def test_a_chain_is_split_at_its_weakest_edge():
    chain = [Edge(1, 2, 0.99), Edge(2, 3, 0.86), Edge(3, 4, 0.97)]
    clusters, left_out = cluster_edges(chain, bound=3)
    assert clusters == [[1, 2], [3, 4]]
    assert left_out == [Edge(2, 3, 0.86)]


def test_who_was_taken_out_is_in_no_cluster():
    assert cluster_edges([Edge(1, 2, 0.9), Edge(2, 3, 0.9)], alone={2})[0] == []


members = st.builds(
    ClusterItem, st.integers(1, 9), st.integers(1, 9), st.booleans(), st.booleans(), st.booleans(), st.booleans(),
    st.integers(0, 3), st.integers(0, 3), author=st.sampled_from(["ann", "bob", None]), is_said_duplicate=st.booleans(),
)  # fmt: skip


@given(st.lists(members, min_size=1, max_size=6, unique_by=lambda one: one.number), st.integers(0, 99))
def test_the_canonical_ignores_the_order_and_is_open_if_any_is(cluster, seed):
    shuffled = list(cluster)
    random.Random(seed).shuffle(shuffled)
    chosen = choose_canonical(cluster)
    assert choose_canonical(shuffled) == chosen
    assert chosen[0].is_open or not any(one.is_open for one in cluster)


def test_preferences_come_in_their_order():
    base = ClusterItem(1, 10, is_open=True, author="ann")
    rivals = [
        (base._replace(is_in_language=False, activity=9), base._replace(number=11), "language"),
        (base._replace(activity=9), base._replace(number=11, is_by_maintainer=True), "maintainer"),
        (base._replace(created_at=1), base._replace(number=11, activity=1, created_at=2), "activity"),
        (base._replace(created_at=2), base._replace(number=11, created_at=1), "age"),
        (base, base._replace(number=9), "number"),
        (base._replace(is_by_maintainer=True), base._replace(number=11, is_chosen=True), "a person"),
        (base._replace(is_said_duplicate=True), base._replace(number=11), "a person"),
        (base._replace(number=11, author="max", is_by_maintainer=True, activity=9), base, "age"),
        (base._replace(number=11, author=None), base._replace(author=None), "age"),
        (base._replace(is_open=False, is_chosen=True), base._replace(number=11), "open"),
    ]
    for loser, winner, by in rivals:
        assert choose_canonical([loser, winner]) == (winner, by)


def test_english_is_told_from_other_languages():
    assert is_english("The wallet does not open when I start it from the command line and it is slow")
    assert not is_english(
        "Die Brieftasche öffnet sich nicht, wenn ich sie von der Befehlszeile aus starte, und zwar immer"
    )
    assert not is_english("ウォレットが起動しません。バージョンを上げた後に発生します。")
    assert is_english("crash on start")


def item(number, **more):
    facts = {"is_open": True, "is_duplicate": False, "author": "ann", "assignees": ()} | more
    return ClusterItem(number, number, **facts)


NOBODY = {"ann": False, "bob": False, "max": True}


def reasons(items, canonical, found, **more):
    return {one.item_id: one.reason or None for one in plan_cluster(items, canonical, found, NOBODY, **more)}


def test_why_an_item_stays_open():
    sure = [Edge(number, 1, 0.95) for number in range(2, 9)]
    items = [
        item(1), item(2), item(3, is_open=False), item(4, author="max"), item(5, assignees=("bob", "max")),
        item(6, author="stranger"), item(7, assignees=None), item(8, author=None), item(9), item(10),
    ]  # fmt: skip
    found = reasons(items, 1, [*sure, Edge(9, 2, 0.95), Edge(10, 1, 0.89)])
    assert found == {
        2: None,
        3: ReasonCode.NOT_OPEN,
        4: ReasonCode.MAINTAINER_AUTHOR,
        5: ReasonCode.MAINTAINER_ASSIGNEE,
        6: ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY,
        7: ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY,
        8: ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY,
        9: ReasonCode.MISSING_ACCEPTED_EDGE,
        10: ReasonCode.LOW_CONFIDENCE,
    }


def test_direct_fallback_never_closes_onto_what_is_closed_marked_or_closed_by_the_plan():
    found = [Edge(2, 1, 0.95), Edge(3, 2, 0.95), Edge(4, 5, 0.95), Edge(6, 7, 0.95), Edge(8, 9, 0.95)]
    items = [
        item(1), item(2), item(3), item(4), item(5, is_open=False), item(6), item(7, is_duplicate=True),
        item(8, created_at=20), item(9, author="max", created_at=10),
    ]  # fmt: skip
    assert reasons(items, 1, found, policy="direct-fallback") == {
        2: None,
        3: ReasonCode.TARGET_NOT_OPEN,
        4: ReasonCode.TARGET_NOT_OPEN,
        5: ReasonCode.NOT_OPEN,
        6: ReasonCode.TARGET_IS_DUPLICATE,
        7: ReasonCode.MISSING_ACCEPTED_EDGE,
        8: None,
        9: ReasonCode.MAINTAINER_AUTHOR,
    }


def test_no_circle_comes_about_across_runs():
    """1 was closed onto 2 by an earlier run and opened again; closing 2 onto 1 now would be a circle."""
    found = reasons([item(1), item(2)], 1, [Edge(2, 1, 0.99)], targets_of_others={1: 2})
    assert found == {2: ReasonCode.WOULD_CYCLE}


def test_the_last_open_item_stays():
    """The canonical may be closed while another is open only by a person's mistake; the cluster keeps one all the same."""
    items = [item(1, is_open=False), item(2), item(3)]
    found = reasons(items, 1, [Edge(2, 3, 0.99), Edge(3, 2, 0.99)], policy="direct-fallback")
    assert [reason for reason in found.values() if reason is None] in ([], [None])
    assert any(found.values())


@given(
    st.lists(st.builds(item, st.integers(1, 8), is_open=st.booleans(), is_duplicate=st.booleans()), min_size=1, max_size=8, unique_by=lambda one: one.number),
    st.lists(st.builds(Edge, st.integers(1, 8), st.integers(1, 8), st.just(0.95)), max_size=10),
    st.dictionaries(st.integers(1, 8), st.integers(1, 8), max_size=3),
    st.sampled_from(["canonical-only", "direct-fallback"]),
)  # fmt: skip
def test_a_plan_makes_no_circle_and_leaves_one_open(items, found, before, policy):
    canonical = choose_canonical([ClusterItem(one.item_id, one.number, one.is_open) for one in items])[0].item_id
    lines = plan_cluster(items, canonical, found, NOBODY, policy=policy, targets_of_others=before)
    closes = {one.item_id: one.target_id for one in lines if not one.reason}
    by_id = {one.item_id: one for one in items}
    for source, target in closes.items():
        assert by_id[target].is_open
        assert not by_id[target].is_duplicate
        assert target not in closes
        assert any((edge.source, edge.target) == (source, target) for edge in found)
        at, steps = target, 0
        while at in (before | closes) and steps < 20:
            at, steps = (before | closes)[at], steps + 1
            assert at != source
    if any(one.is_open for one in items):
        assert any(one.is_open and one.item_id not in closes for one in items)


def test_seeded_order_of_edges_changes_no_plan():
    items = [item(number) for number in range(1, 7)]
    found = [Edge(number, 1, 0.95) for number in range(2, 7)]
    plans = set()
    for seed in range(5):
        shuffled = list(found)
        random.Random(seed).shuffle(shuffled)
        plans.add(tuple(plan_cluster(items, 1, shuffled, NOBODY)))
    assert len(plans) == 1


FILED = {"ann": "ann", "ANN": "ann", "bob": "bob", None: "somebody"}


@given(
    st.lists(
        st.builds(
            item, st.integers(1, 8), is_open=st.booleans(), author=st.sampled_from(["ann", "ANN", "bob", None]),
            created_at=st.one_of(st.none(), st.integers(1, 3)),
        ),
        min_size=2, max_size=8, unique_by=lambda one: one.number,
    ),
    st.sampled_from(["canonical-only", "direct-fallback"]),
)  # fmt: skip
def test_no_plan_closes_an_older_item_onto_a_newer_one_of_another_author(items, policy):
    """Whatever judges accepted: here everything repeats everything."""
    found = [Edge(one.item_id, other.item_id, 0.95) for one in items for other in items if one is not other]
    by_id = {one.item_id: one for one in items}
    for canonical in by_id:
        for line in plan_cluster(items, canonical, found, NOBODY, policy=policy):
            if line.reason or not line.target_id:
                continue
            source, target = by_id[line.item_id], by_id[line.target_id]
            is_own = source.author and target.author and FILED[source.author] == FILED[target.author]
            has_dates = None not in (source.created_at, target.created_at)
            is_older = (
                (source.created_at, source.number) < (target.created_at, target.number)
                if has_dates
                else source.number < target.number
            )
            assert is_own or not is_older


def test_a_person_may_accept_a_pair_against_its_dates():
    assert reasons([item(1), item(2, author="bob")], 2, [Edge(1, 2, 1.0)]) == {1: ReasonCode.TARGET_IS_NEWER}
    assert reasons([item(1), item(2, author="bob")], 2, [Edge(1, 2, 1.0)], by_people={1}) == {1: None}


def test_copies_repeat_each_other_unless_a_person_said_otherwise():
    said = [HumanDecision(5, 1, "reject", "ana", 0), HumanDecision(4, 1, "accept", "ana", 0)]
    standing = apply_overrides([Edge(2, 1, 0.97), Edge(3, 2, 0.92), Edge(5, 2, 0.95)], said)
    assert copy_edges([1, 2, 3, 4, 5], 1, standing, lambda *_: True) == [Edge(3, 1, 0.92)]
    assert copy_edges([1, 2, 3, 4, 5], 1, standing, lambda *_: False) == []
    onto_second = copy_edges([1, 2, 3, 4, 5], 2, standing, lambda *_: True)
    assert 4 not in {one.source for one in onto_second}, "what a person accepted of an item is all that counts"
