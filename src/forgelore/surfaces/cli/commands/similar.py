"""`forgelore similar REF`: what an item resembles, and why."""

import argparse
from typing import Any

from forgelore.core.names import parse_ref
from forgelore.surfaces.cli.filtering import add_filters, add_limit, add_modes, build_filters, find_rescorer
from forgelore.surfaces.cli.hits import as_data, print_hits
from forgelore.surfaces.cli.terminal import clean, fit, width

EXAMPLES = (
    "forgelore similar '#12'",
    "forgelore similar '#12' --state open --limit 5 --explain",
    "forgelore similar acme/web#12 --type pr --json",
    "forgelore similar '#12' --rescore",
)
_SHOWN_QUOTES = 3
_SAME = {"same_text": "the same text", "nearly_same_text": "nearly the same text"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12, a page's URL or a release's tag")
    add_modes(parser)
    add_limit(parser)
    add_filters(parser)
    parser.add_argument("--earlier", action="store_true", help="only what was there before it: what it could repeat")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    return run_like(context, arguments, arguments.ref, is_earlier=arguments.earlier)


def run_like(context: Any, arguments: argparse.Namespace, ref: str, *, is_earlier: bool) -> dict[str, Any]:
    """Compare one item with the others; `search --similar-to` is the same."""
    from forgelore.flows.compare.similar import as_answer

    retriever, subject, ranking = _rank(context, arguments, ref, is_earlier=is_earlier)
    answer = as_answer(retriever, ranking)
    told = {match.hit.row.document_id: match for match in ranking.matches}
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_json:
        context.print(f"like {context.style.bold(clean(ref))} {clean(subject.title)}", "")
        print_hits(
            context, answer, ref, is_explained=arguments.explain, is_filtered=True,
            reason=lambda hit: why(hit, told.get(hit.row.document_id)),
        )  # fmt: skip
    return {
        "ref": ref, "title": subject.title, "mode": answer.mode, "total": len(answer.hits),
        "chance": _chance_data(ranking.chance),
        "hits": [_hit_data(hit, told.get(hit.row.document_id), is_explained=arguments.explain) for hit in answer.hits],
    }  # fmt: skip


def _rank(context: Any, arguments: argparse.Namespace, ref: str, *, is_earlier: bool) -> tuple[Any, Any, Any]:
    from forgelore.api import History
    from forgelore.flows.browse.items import find_item
    from forgelore.flows.compare.rank import CompareRequest, rank_matches
    from forgelore.flows.compare.similar import narrow
    from forgelore.store.hits import load_subject

    app, parsed = context.app, parse_ref(ref)
    default = None if parsed.project else app.find_project(arguments.project)
    subject = load_subject(app.store(), find_item(app.store(), parsed, default, app.hosts))
    filters = narrow(build_filters(context, arguments), subject, is_earlier=is_earlier)
    lore = History(app)
    rescorer = find_rescorer(lore, arguments, mode=arguments.mode)
    retriever = lore.retriever(arguments.embedder, is_lexical=arguments.mode == "lexical")
    request = CompareRequest(subject, filters, arguments.mode, arguments.limit)
    ranking = rank_matches(retriever, request, rescorer=rescorer)
    return retriever, subject, ranking


def why(hit: Any, match: Any = None) -> str:
    """Return "both say: tombstone, offline · meaning 0.71 · both quote: ChunkCache::insert · similarity 0.94"."""
    same = _SAME.get(match.evidence.sameness) if match else None
    similarity = same or (f"similarity {shown(match.similarity)}" if match else "")
    quotes = quoted(match.evidence.quotes) if match else ""
    words = f"both say: {', '.join(clean(word) for word in hit.words[:6])}" if hit.words else ""
    meaning = f"meaning {hit.vector_score:.2f}" if hit.vector_score is not None else ""
    return " · ".join(part for part in (words, meaning, quotes, similarity) if part)


def shown(similarity: float) -> str:
    """Return it with two digits, rounded down: 0.996 must not read as certainty."""
    return f"{int(similarity * 100) / 100:.2f}"


def quoted(quotes: Any) -> str:
    told = [fit(clean(quote.text), width() // 3) for quote in quotes if quote.what != "title"][:_SHOWN_QUOTES]
    return f"both quote: {', '.join(told)}" if told else ""


def _hit_data(hit: Any, match: Any, *, is_explained: bool) -> dict[str, Any]:
    data = {**as_data(hit, is_explained=is_explained), "why": why(hit, match)}
    data["similarity"] = round(match.similarity, 4) if match else None
    data["sameness"] = match.evidence.sameness if match else None
    data["quotes"] = [quote._asdict() for quote in match.evidence.quotes] if match else []
    if is_explained:
        data["strength"] = round(match.strength, 4) if match else None
        data["evidence"] = {name: round(value, 4) for name, value in match.evidence.features.items()} if match else None
    return data


def _chance_data(chance: Any) -> dict[str, Any] | None:
    """Return the chance that the first hit is a duplicate."""
    return {"value": round(chance.value, 4), "pairs": chance.pairs, "source": chance.source} if chance else None
