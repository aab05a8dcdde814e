"""The index: `generate-docs`, `embed`, `index-code`, and `stats` with its check and repair."""

import argparse
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import CorruptStore, EmbeddingFailed, StoreError, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import add_project, project_in
from forgelore.surfaces.cli.progress import make_watcher, watched
from forgelore.surfaces.present.data import MISSING, Absence
from forgelore.surfaces.present.text import clean, number, table

if TYPE_CHECKING:
    from forgelore.api import (
        BuiltDocuments,
        Checked,
        CodeStats,
        DocumentStats,
        Embedded,
        FileStats,
        Finding,
        FullTextStats,
        IndexedCode,
        IndexStats,
        Proof,
        Repair,
        Repaired,
        VectorStats,
        WaitingQueue,
    )

_DOCUMENT_TYPES = {"intent": "intent cards"}  # the others have a plain plural


class StatsData(NamedTuple):
    """How much is there, and what waits; not there where a check found a file that cannot be read. `check` and `proofs`
    come with --check, `repair` with --repair.
    """

    documents: "DocumentStats | Absence" = MISSING
    vectors: "VectorStats | Absence" = MISSING
    full_text: "FullTextStats | Absence" = MISSING
    queues: "dict[str, WaitingQueue] | Absence" = MISSING
    file: "FileStats | Absence" = MISSING
    code: "CodeStats | Absence" = MISSING
    check: "list[Finding] | Absence" = MISSING
    proofs: "list[Proof] | Absence" = MISSING
    repair: "list[Repair] | Absence" = MISSING


def add_generate_docs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="rebuild every item, not only what changed")
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")


def run_generate_docs(context: Context, arguments: argparse.Namespace) -> "BuiltDocuments":
    with watched(context, arguments.project or "index") as watcher:
        done = context.history.index.build_documents(arguments.project, full=arguments.full, watcher=watcher)
    _print_documents(context, done)
    return done


def _print_documents(context: Context, done: "BuiltDocuments") -> None:
    counts = (
        (done.new, "new"), (done.changed, "changed"), (done.unchanged, "unchanged"), (done.removed, "removed")
    )  # fmt: skip
    what = ", ".join(f"{number(count)} {name}" for count, name in counts if count) or "nothing to do"
    cut = f" ({number(done.truncated)} cut for length)" if done.truncated else ""
    context.print(f"{context.style.green('✓')} {number(done.total)} documents{cut}: {what}")
    if types := ", ".join(
        f"{number(count)} {_DOCUMENT_TYPES.get(name, f'{name}s')}" for name, count in done.by_type.items()
    ):
        context.print(f"  {types}")
    if done.failed:
        context.warn(f"{number(done.failed)} items could not be indexed; why: forgelore stats")


def add_embed_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--retry-failed", action="store_true", help="only documents that failed before, all of them")
    which.add_argument(
        "--full",
        action="store_true",
        help="all documents, even those with vectors; an interrupted run continues",
    )
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")
    parser.add_argument("--embedder", metavar="NAME", help="minilm, ollama or openai; default: as the settings say")


def run_embed(context: Context, arguments: argparse.Namespace) -> "Embedded":
    history, project = context.history, arguments.project
    if waiting := history.index.count_waiting(project):
        # Vectors are made from documents: items without one get no vector now, and people should know.
        context.warn(f"{number(waiting)} items must be indexed first; run: forgelore generate-docs")
    with watched(context, arguments.project or "index") as watcher:
        done = history.index.embed(
            project, full=arguments.full, retry=arguments.retry_failed, embedder=arguments.embedder, watcher=watcher
        )
    _print_embedded(context, done)
    return done


def _print_embedded(context: Context, done: "Embedded") -> None:
    mark = context.style.green("✓") if not done.failed else context.style.yellow("!")
    counts = (
        (done.embedded, "embedded"),
        (done.failed, "failed"),
        (done.second, "items embedded by the second embedder"),
    )
    parts = ", ".join(f"{number(count)} {name}" for count, name in counts if count)
    waiting = f"; {number(done.waiting)} will be tried again (forgelore stats)" if done.waiting else ""
    context.print(f"{mark} {parts or 'nothing to do'}{waiting}")
    if done.dropped:
        context.print(f"  {number(done.dropped)} vectors of an embedder that is no longer used were dropped")
    if done.failed and not done.embedded:
        hint = "why: forgelore stats; again: forgelore embed --retry-failed"
        context.fail(EmbeddingFailed(f"none of {number(done.failed)} documents could be embedded", hint=hint))


def add_index_code_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", nargs="?", default="", help="a clone; default: the one you are in")
    parser.add_argument("--project", metavar="NAME", help="the code's project; default: that of the clone's origin")
    parser.add_argument("--fetch", action="store_true", help="fetch a shallow copy even if there is a clone")
    parser.add_argument("--depth", metavar="N", type=int, help="how many commits to fetch (default 200)")
    parser.add_argument("--no-commits", action="store_true", help="only the files, not the commits")


def run_index_code(context: Context, arguments: argparse.Namespace) -> "IndexedCode":
    with watched(context, arguments.project or "code") as watcher:
        done = context.history.index.code(
            arguments.path, project=arguments.project, fetch=arguments.fetch, depth=arguments.depth,
            with_commits=not arguments.no_commits, watcher=watcher,
        )  # fmt: skip
    context.warn(*done.warnings)
    _print_code(context, done)
    return done


def _print_code(context: Context, done: "IndexedCode") -> None:
    files, commits = done.files, done.commits
    counts = (
        (files.new, "new"), (files.changed, "changed"), (files.moved, "moved"), (files.removed, "removed"),
        (files.unchanged, "unchanged"),
    )  # fmt: skip
    what = ", ".join(f"{number(count)} {name}" for count, name in counts if count) or "none"
    place = f" at {files.commit[:12]}" if files.commit else ""
    context.print(f"{context.style.green('✓')} {clean(done.project)}{place}: {number(files.total)} files: {what}")
    if files.left_out:
        reasons = ", ".join(f"{number(count)} {name.replace('_', ' ')}" for name, count in files.left_out.items())
        context.print(context.style.dim(f"  left out: {reasons}"))
    if commits:
        gone = f", {number(commits.removed)} removed" if commits.removed else ""
        context.print(f"  {number(commits.total)} commits: {number(commits.new)} new{gone}")


def add_stats_arguments(parser: argparse.ArgumentParser) -> None:
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


def run_stats(context: Context, arguments: argparse.Namespace) -> StatsData:
    if arguments.repair and not arguments.check:
        raise UsageError("--repair needs --check", hint="run: forgelore stats --check --repair")
    if arguments.sample is not None and (arguments.sample < 0 or not arguments.check):
        raise UsageError("--sample needs --check and 0 or more", hint="run: forgelore stats --check --sample 500")
    project = project_in(arguments)
    if project and arguments.check:
        raise UsageError("--check looks at the whole file", hint="leave the project out")
    checked, repaired = _run_check(context, arguments) if arguments.check else (None, None)
    stats = _load_stats(context, project, is_checked=arguments.check)
    if stats is not None:
        _print_stats(context, stats)
    if checked is not None:
        _print_repair(context, repaired)
        _print_findings(context, checked, is_repaired=repaired is not None)
    data = StatsData(*stats) if stats else StatsData()
    if checked is not None:
        data = data._replace(check=checked.findings, proofs=checked.proofs)
    return data if repaired is None else data._replace(repair=repaired.repairs)


def _load_stats(context: Context, project: str | None, *, is_checked: bool) -> "IndexStats | None":
    """Return the numbers; None for a file that they cannot be read from, about which a check says more."""
    try:
        return context.history.index.stats(project)
    except StoreError:
        if not is_checked:
            raise
        return None


def _run_check(context: Context, arguments: argparse.Namespace) -> "tuple[Checked, Repaired | None]":
    """Return what a check found, and what was repaired before it where a repair was asked for."""
    with make_watcher("repair" if arguments.repair else "check", is_quiet=context.is_data) as watcher:
        if not arguments.repair:
            return context.history.index.check(sample=arguments.sample, watcher=watcher), None
        repaired = context.history.index.repair(sample=arguments.sample, watcher=watcher)
        return repaired.checked, repaired


def _print_repair(context: Context, repaired: "Repaired | None") -> None:
    if repaired is None:
        return
    for repair in repaired.repairs:
        if not repair.left:
            context.print(f"{context.style.green('✓')} repaired {repair.name}: {number(repair.found)}")
    context.warn(*repaired.notes)


def _print_findings(context: Context, checked: "Checked", *, is_repaired: bool) -> None:
    """Print what is wrong, after the repair if there was one."""
    style = context.style
    for finding in checked.findings:
        context.print(f"{style.red('✗')} {finding.name}: {number(finding.count)}  {finding.meaning}")
        context.print(style.dim(f"    {clean('; '.join(finding.examples))}"))
        if finding.remedy and is_repaired:
            context.print(f"    {style.dim('→')} {finding.remedy}")
    if checked.is_cut_short:
        context.print("  the rest was not checked")
    if checked.findings:
        context.fail(_check_error(context.history.path, checked.findings, is_repaired=is_repaired))
    else:
        context.print(f"{style.green('✓')} sound: everything matches what it is made from")
    for proof in checked.proofs:
        if proof.checked < proof.total:
            reason = f": {proof.why}" if proof.why else ""
            line = f"  {proof.what}: {number(proof.checked)} of {number(proof.total)}{reason}"
            context.print(style.dim(line))


def _check_error(path: str, findings: "list[Finding]", *, is_repaired: bool) -> StoreError:
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


def _print_stats(context: Context, stats: "IndexStats") -> None:
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


COMMANDS = {
    "generate-docs": Command(
        add_generate_docs_arguments,
        run_generate_docs,
        (
            "forgelore generate-docs                 what a sync left to do",
            "forgelore generate-docs --full          look at every item again; equal documents are not rewritten",
            "forgelore generate-docs --project acme/web --json",
        ),
    ),
    "embed": Command(
        add_embed_arguments,
        run_embed,
        (
            "forgelore embed                       documents that have no vectors yet",
            "forgelore embed --retry-failed        only those that failed before",
            "forgelore embed --full                all vectors anew; the old ones are used until then",
            "forgelore embed --embedder ollama     with another embedder than the settings name",
        ),
    ),
    "index-code": Command(
        add_index_code_arguments,
        run_index_code,
        (
            "forgelore index-code                            the clone you are in",
            "forgelore index-code ~/src/web                  another one; its origin says which project it is",
            "forgelore index-code . --project acme/web       its origin is not a forge, or is a fork",
            "forgelore index-code --project acme/web         without a clone: fetch a shallow copy",
            "forgelore index-code --project acme/web --fetch --depth 5000",
            "forgelore search 'retry on timeout' --type code --path 'src/**/*.py'",
            "forgelore search 'why was this removed' --type commit",
        ),
    ),
    "stats": Command(
        add_stats_arguments,
        run_stats,
        (
            "forgelore stats",
            "forgelore stats acme/web             of this project alone",
            "forgelore stats --check              compare everything with what it is made from; also while a sync runs",
            "forgelore stats --check --sample 0   without asking the embedder for any vector",
            "forgelore stats --check --repair     make again what can be made again",
            "forgelore stats --json",
        ),
    ),
}
