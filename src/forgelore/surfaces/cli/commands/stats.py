"""`forgelore stats`: what is in the index, whether it is sound, and its repair."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import CorruptStore, StoreError, UsageError
from forgelore.surfaces.cli.filtering import add_project, project_in
from forgelore.surfaces.cli.terminal import clean, number, table

if TYPE_CHECKING:
    from forgelore.api import Checked, CodeStats, Finding, IndexStats, Repaired, VectorStats
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import StatsData

EXAMPLES = (
    "forgelore stats",
    "forgelore stats acme/web             of this project alone",
    "forgelore stats --check              compare everything with what it is made from; also while a sync runs",
    "forgelore stats --check --sample 0   without asking the embedder for any vector",
    "forgelore stats --check --repair     make again what can be made again",
    "forgelore stats --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project(parser, "count what belongs to this project; default: everything in the file")
    parser.add_argument(
        "--check", action="store_true",
        help="compare all tables, rows, links, documents, texts, words and the shape of vectors with what they are made"
        " from; lookups of rare words, searches and vectors by a random sample; exit code 8 when anything is wrong",
    )  # fmt: skip
    parser.add_argument("--repair", action="store_true", help="with --check: mend it")
    parser.add_argument(
        "--sample", metavar="N", type=int,
        help="with --check: how many documents are searched for by their words and embedded again; default: 200",
    )  # fmt: skip


def run(context: "Context", arguments: argparse.Namespace) -> "StatsData":
    from forgelore.surfaces.present.fetch import present_stats

    if arguments.repair and not arguments.check:
        raise UsageError("--repair needs --check", hint="run: forgelore stats --check --repair")
    if arguments.sample is not None and (arguments.sample < 0 or not arguments.check):
        raise UsageError("--sample needs --check and 0 or more", hint="run: forgelore stats --check --sample 500")
    project = project_in(arguments)
    if project and arguments.check:
        raise UsageError("--check looks at the whole file", hint="leave the project out")
    checked, repaired = _check(context, arguments) if arguments.check else (None, None)
    stats = _load(context, project, is_checked=arguments.check)
    if stats is not None:
        _print_stats(context, stats)
    if checked is not None:
        _print_repair(context, repaired)
        _print_findings(context, checked, is_repaired=repaired is not None)
    return present_stats(stats, checked, repaired)


def _load(context: "Context", project: str | None, *, is_checked: bool) -> "IndexStats | None":
    """Return the numbers. A check has more to say about a file that they cannot be read from."""
    try:
        return context.history.stats(project)
    except StoreError:
        if not is_checked:
            raise
        return None


def _check(context: "Context", arguments: argparse.Namespace) -> "tuple[Checked, Repaired | None]":
    """Return what was found, and what was repaired before that if anything was asked for."""
    from forgelore.surfaces.cli.progress import make_watcher

    with make_watcher("repair" if arguments.repair else "check", is_quiet=context.is_data) as watcher:
        if not arguments.repair:
            return context.history.check(sample=arguments.sample, watcher=watcher), None
        repaired = context.history.repair(sample=arguments.sample, watcher=watcher)
        return repaired.checked, repaired


def _print_repair(context: "Context", repaired: "Repaired | None") -> None:
    if repaired is None:
        return
    for repair in repaired.repairs:
        if not repair.left:
            context.print(f"{context.style.green('✓')} repaired {repair.name}: {number(repair.found)}")
    for note in repaired.notes:
        context.warn(note)


def _print_findings(context: "Context", checked: "Checked", *, is_repaired: bool) -> None:
    """Tell what is wrong now, after a repair if there was one."""
    style = context.style
    for finding in checked.findings:
        context.print(f"{style.red('✗')} {finding.name}: {number(finding.count)}  {finding.meaning}")
        context.print(style.dim(f"    {clean('; '.join(finding.examples))}"))
        if finding.remedy and is_repaired:
            context.print(f"    {style.dim('→')} {finding.remedy}")
    if checked.is_cut_short:
        context.print("  the rest was not looked at")
    if checked.findings:
        context.fail(_failure(context.history.path, checked.findings, is_repaired=is_repaired))
    else:
        context.print(f"{style.green('✓')} sound: everything is what it is made from")
    for proof in checked.proofs:
        if proof.checked < proof.total:
            reason = f": {proof.why}" if proof.why else ""
            line = f"  {proof.what}: {number(proof.checked)} of {number(proof.total)}{reason}"
            context.print(style.dim(line))


def _failure(path: str, findings: "list[Finding]", *, is_repaired: bool) -> StoreError:
    names = ", ".join(finding.name for finding in findings)
    if any(finding.name in ("damaged_file", "source_missing") for finding in findings):
        hint = (
            f"keep it (mv {path} {path}.broken), then run: forgelore sync --full; imported projects: import them again"
        )
        return CorruptStore(f"{path} is damaged and cannot be repaired: {names}", hint=hint)
    if not is_repaired:
        return StoreError(f"the index is not sound: {names}", hint="run: forgelore stats --check --repair")
    remedies = dict.fromkeys(finding.remedy for finding in findings if finding.remedy)
    return StoreError(f"not everything could be repaired: {names}", hint="; ".join(remedies) or "please report this")


def _print_stats(context: "Context", stats: "IndexStats") -> None:
    documents, file = stats.documents, stats.file
    rows = [["documents", number(documents.total), "" if documents.total else "none yet: forgelore generate-docs"]]
    for kind, counts in documents.by_kind.items():
        threads = f"and {number(counts['thread'])} threads" if counts.get("thread") else ""
        rows.append([f"  {kind}s", number(counts.get("item", 0)), threads])
    if documents.truncated:
        cut = ", ".join(f"{number(count)} {reason}" for reason, count in documents.truncated_by.items())
        rows.append(["  cut for length", number(documents.truncated), cut])
    rows.append(["full text", number(stats.full_text.indexed), "documents"])
    rows += _vector_rows(stats.vectors)
    rows += _code_rows(stats.code)
    rows.append(["file", f"{file.bytes / 1e6:,.1f} MB", f"{clean(file.path)}, schema {file.schema_version}"])
    context.print(*table(rows, grow=2))
    for kind, queue in stats.queues.items():
        if queue.waiting and kind != "embed":
            context.print(f"{number(queue.waiting)} {kind} jobs wait, {number(queue.failing)} failing")
        for error in queue.errors:
            line = f"  {kind} {error.key}: {clean(error.error)} ({error.attempts} attempts)"
            context.print(context.style.dim(line))


def _vector_rows(vectors: "VectorStats") -> list[list[str]]:
    embedder = vectors.embedder
    by = f", {embedder.name} {embedder.model}" if embedder else ""
    coverage = f"documents ({vectors.coverage or 0:.1%}) in {number(vectors.chunks)} chunks{by}"
    rows = [["vectors", number(vectors.embedded), coverage]]
    if vectors.pending or vectors.failed:
        rows.append(["  without", number(vectors.pending), f"waiting, {number(vectors.failed)} failing"])
    if second := vectors.second:
        rows.append(["  beside", number(second.items), f"items, {clean(second.fingerprint.partition(':')[0])}"])
    return rows


def _code_rows(code: "CodeStats") -> list[list[str]]:
    """Nothing where no clone was indexed."""
    if not code.files and not code.commits:
        return []
    languages = ", ".join(
        f"{number(count)} {clean(name) or 'other'}" for name, count in list(code.by_language.items())[:5]
    )
    return [["code files", number(code.files), languages], ["commits", number(code.commits), ""]]
