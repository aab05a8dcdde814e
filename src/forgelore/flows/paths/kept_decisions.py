"""Decisions that a model has read before, as they stand now: each quote is looked up again in today's text.

What no longer stands there is left out, and so is what somebody said who is no maintainer. A decision whose
conversation went on since is shown and marked. Rules that found the same lines say nothing new; what they know of other
decisions is joined.
"""

from collections.abc import Sequence
from typing import cast

from forgelore.core.ask.citations import CitedText, check_citation
from forgelore.core.ask.tool_calls import SaidCitation
from forgelore.core.decisions.extraction import find_part
from forgelore.core.decisions.graph import DecisionNode
from forgelore.core.decisions.statements import DecisionEdge, EdgeRelation, Sentence
from forgelore.core.names import shown_ref
from forgelore.flows.paths.extract import hash_content
from forgelore.flows.paths.found_decisions import FoundDecision, ItemReader, concerned_parts, item_names, may_decide
from forgelore.flows.paths.sources import SourceItem
from forgelore.store.db import Store
from forgelore.store.project_decisions import KeptDecision, load_edges_to, load_kept_decisions
from forgelore.store.projects import StoredProject


def load_kept(store: Store, reader: ItemReader, items: Sequence[SourceItem]) -> list[FoundDecision]:
    """Return the kept decisions of these items that concern the path and still stand."""
    kept = load_kept_decisions(store, [item.row.id for item in items])
    found = (_stand(reader, item, one) for item in items for one in kept.get(item.row.id, ()))
    return [one for one in found if one]


def load_superseding(
    store: Store, project: StoredProject, found: Sequence[FoundDecision], *, is_public: bool
) -> list[DecisionNode]:
    """Return kept decisions about other files that say they replace one of these."""
    names = frozenset(name for one in found for name in one.node.names)
    here = {one.node.shown for one in found}
    nodes = []
    for row in load_edges_to(store, project.id, names, is_public=is_public):
        shown = f"{shown_ref(project.name.forge, row.kind, row.number, row.tag)} line {row.first_line}"
        if shown not in here:
            nodes.append(DecisionNode(frozenset(), shown, row.decided_at, (DecisionEdge("supersedes", row.target),)))
    return nodes


def join_found(kept: Sequence[FoundDecision], by_rules: Sequence[FoundDecision]) -> list[FoundDecision]:
    """Return the kept decisions with what rules know of them, then those that only rules found."""
    rest, joined = [], list(kept)
    for one in by_rules:
        same = next((at for at, other in enumerate(joined) if other.rule == "model" and _overlap(one, other)), None)
        if same is None:
            rest.append(one)
        else:
            node = joined[same].node
            edges = tuple(dict.fromkeys((*node.edges, *one.node.edges)))
            joined[same] = joined[same]._replace(node=node._replace(edges=edges))
    return [*joined, *rest]


def _stand(reader: ItemReader, item: SourceItem, kept: KeptDecision) -> FoundDecision | None:
    text = item.text
    said = SaidCitation(text.key, kept.first_line, kept.last_line, kept.quote)
    found = check_citation(1, said, CitedText(text.title, text.url, text.lines, text.hash))
    part = find_part(text, found.first_line, found.last_line) if found.is_good else None
    if part is None or not may_decide(reader, item.row, part):
        return None
    is_named = any(reader.meant.matches(path) for path in kept.paths)
    if not is_named and (kept.paths or part not in concerned_parts(reader.meant, item)):
        return None
    names = item_names(reader.project, item.row) | {_name(kept.id)}
    edges = tuple(
        DecisionEdge(cast("EdgeRelation", relation), target or _name(target_id or 0))
        for relation, target, target_id in kept.edges
    )
    node = DecisionNode(names, f"{text.ref} line {found.first_line}", part.written_at, edges)
    role, is_merged = reader.role_of(part.author), part.section == "" and item.row.state == "merged"
    return FoundDecision(
        "model", Sentence(kept.quote, found.first_line, found.last_line), text, part.author, part.written_at,
        "author" if role == "unknown" and is_merged else role, node, kept.summary,
        is_stale=kept.content_hash != hash_content(text),
    )  # fmt: skip


def _name(decision_id: int) -> str:
    return f"decision:{decision_id}"


def _overlap(one: FoundDecision, other: FoundDecision) -> bool:
    mine, theirs = one.sentence, other.sentence
    return one.text.key == other.text.key and mine.first <= theirs.last and theirs.first <= mine.last
