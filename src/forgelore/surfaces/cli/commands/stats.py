"""`forgelore stats`: what is in the index, whether it is sound, and its repair."""

import argparse
from typing import Any

from forgelore.errors import CorruptStore, StoreError, UsageError
from forgelore.surfaces.cli.terminal import clean, number, table

EXAMPLES = (
    "forgelore stats",
    "forgelore stats --check              compare everything with everything; also while a sync runs",
    "forgelore stats --check --repair     mend what can be derived again",
    "forgelore stats --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="look for contradictions; exit code 8 when there are any")
    parser.add_argument("--repair", action="store_true", help="with --check: mend them")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.repair and not arguments.check:
        raise UsageError("--repair needs --check", hint="run: forgelore stats --check --repair")
    from forgelore.flows.health import load_stats

    store = context.app.store()
    repaired = _repair(context) if arguments.repair else None
    data: dict[str, Any] = load_stats(store)
    _print_stats(context, data)
    if arguments.check:
        data["check"] = _check(context, repaired)
    if repaired is not None:
        data["repair"] = repaired
    return data


def _repair(context: Any) -> list[dict[str, Any]]:
    from msgspec import to_builtins

    from forgelore.flows.health import repair_store
    from forgelore.surfaces.cli.progress import make_watcher

    with make_watcher("repair", is_json=context.is_json) as watcher:
        found: list[dict[str, Any]] = to_builtins(repair_store(context.app.store(), watcher=watcher))
    return found


def _check(context: Any, repaired: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Tell what is wrong now, after a repair if there was one."""
    from forgelore.flows.health import check_store

    style = context.style
    for repair in repaired or ():
        if not repair["left"]:
            context.print(f"{style.green('✓')} repaired {repair['name']}: {number(repair['found'])}")
    findings = check_store(context.app.store())
    for finding in findings:
        context.print(f"{style.red('✗')} {finding.name}: {number(finding.count)}  {finding.meaning}")
        context.print(style.dim(f"    {clean('; '.join(finding.examples))}"))
    if findings:
        context.fail(_failure(context, findings, is_repaired=repaired is not None))
    else:
        context.print(f"{style.green('✓')} sound: documents, full text, vectors and queues fit each other")
    return [
        {"name": one.name, "count": one.count, "examples": one.examples, "meaning": one.meaning} for one in findings
    ]


def _failure(context: Any, findings: list[Any], *, is_repaired: bool) -> StoreError:
    path = context.app.config.db
    names = ", ".join(finding.name for finding in findings)
    if any(finding.name == "damaged_file" for finding in findings):
        hint = f"keep it (mv {path} {path}.broken), then rebuild with: forgelore sync --full"
        return CorruptStore(f"{path} is damaged", hint=hint)
    if is_repaired:
        return StoreError(f"not everything could be repaired: {names}", hint="run: forgelore sync --full")
    return StoreError(f"the index is not sound: {names}", hint="run: forgelore stats --check --repair")


def _print_stats(context: Any, data: dict[str, Any]) -> None:
    documents, vectors, file = data["documents"], data["vectors"], data["file"]
    rows = [
        ["documents", number(documents["total"]), "" if documents["total"] else "none yet: forgelore generate-docs"]
    ]
    for kind, counts in documents["by_kind"].items():
        threads = f"and {number(counts['thread'])} threads" if counts.get("thread") else ""
        rows.append([f"  {kind}s", number(counts.get("item", 0)), threads])
    if documents["truncated"]:
        cut = ", ".join(f"{number(count)} {reason}" for reason, count in documents["truncated_by"].items())
        rows.append(["  cut for length", number(documents["truncated"]), cut])
    rows.append(["full text", number(data["full_text"]["indexed"]), "documents"])
    rows += _vector_rows(vectors)
    rows.append(["file", f"{file['bytes'] / 1e6:,.1f} MB", f"{clean(file['path'])}, schema {file['schema_version']}"])
    context.print(*table(rows, grow=2))
    for kind, queue in data["queues"].items():
        if queue["waiting"] and kind != "embed":
            context.print(f"{number(queue['waiting'])} {kind} jobs wait, {number(queue['failing'])} failing")
        for error in queue["errors"]:
            told = f"  {kind} {error['key']}: {clean(error['error'])} ({error['attempts']} attempts)"
            context.print(context.style.dim(told))


def _vector_rows(vectors: dict[str, Any]) -> list[list[str]]:
    embedder = vectors["embedder"]
    by = f", {embedder['name']} {embedder['model']}" if embedder else ""
    told = f"documents ({vectors['coverage'] or 0:.1%}) in {number(vectors['chunks'])} chunks{by}"
    rows = [["vectors", number(vectors["embedded"]), told]]
    if vectors["pending"] or vectors["failed"]:
        rows.append(["  without", number(vectors["pending"]), f"waiting, {number(vectors['failed'])} failing"])
    return rows
