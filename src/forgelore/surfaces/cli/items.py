"""Reading items: `list`, `count` and `show`, an item with its conversation."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import InvalidValue, NotFound
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import (
    Once,
    add_filters,
    add_output,
    add_query,
    add_repo,
    filter_examples,
    read_filters,
    read_limit,
)
from forgelore.surfaces.present.text import Style, cells, clean, day, fit, number, printable, table, width, wrap

if TYPE_CHECKING:
    from forgelore.api import ListedItem, ListedItems, RowCount, StoredFile, StoredItem, StoredReviewer, StoredThread

_LABEL_COLUMNS = 24
_MAX_LISTED = 1_000_000
_UNBOUNDED = 100_000  # columns where no width is known: programs read, and want whole titles
_NOTE_KINDS = {"people": "user notes", "system": "system notes"}
_RELATIONS = {
    "closes": "closes",
    "duplicate_of": "duplicate of",
    "mentions": "mentions",
    "relates": "related to",
    "moved_to": "moved to",
    "part_of": "part of",
}
_BACK = {
    "closes": "closed by",
    "duplicate_of": "duplicated by",
    "mentions": "mentioned in",
    "relates": "related to",
    "moved_to": "moved from",
}


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes (prs, mrs), discussions, releases or items")
    add_query(parser)
    parser.add_argument(
        "--sort",
        choices=("updated", "created", "number", "comments"),
        default="updated",
        help="sort by this, newest or most first (default: updated)",
    )
    parser.add_argument("--limit", "-L", metavar="N", type=int, default=30, help="how many (default: 30)")
    add_output(parser, with_marks=False)
    add_filters(parser, with_type=False)


def run_list(context: Context, arguments: argparse.Namespace) -> "list[ListedItem]":
    filters = read_filters(context, arguments)
    query = " ".join(arguments.query)
    limit = read_limit(context, arguments, most=_MAX_LISTED)
    ask = context.history.items if arguments.kind == "items" else partial(context.history.list_items, arguments.kind)
    items = ask(query, sort=arguments.sort, limit=limit, **filters)
    context.warn(*items.warnings)
    if arguments.rows:
        context.print_rows(arguments.rows, items)
        return items
    _print_list(context, items, filters.get("project"))
    if len(items) == limit:
        context.print(context.style.dim(f"the first {number(len(items))}; more with --limit"))
    return items


def _print_list(context: Context, items: "ListedItems", project: str | None) -> None:
    if not items:
        context.print("nothing matches" if project is None else f"nothing in {project} matches")
    given = _Columns(
        kind=len({item.kind for item in items}) > 1,
        branches=any(item.source_branch or item.target_branch for item in items),
        created=items.order == "created",
    )
    rows = [_list_row(context, item, given) for item in items]
    spare = (3 + given.kind, 5 + given.kind + given.branches)  # authors and labels
    for line in table(rows, grow=1 + given.kind, spare=spare, columns=None if context.is_fitted else _UNBOUNDED):
        context.print(line)


class _Columns(NamedTuple):
    """Columns that a list has only where they distinguish rows, or where any row has a value."""

    kind: bool
    branches: bool
    created: bool  # the date that the list is sorted by; else that of the last update


def _list_row(context: Context, item: "ListedItem", given: _Columns) -> list[str]:
    style = context.style
    labels = ", ".join(clean(label) for label in item.labels)
    author = f"@{clean(item.author)}" if item.author else ""
    return [
        style.bold(clean(item.ref)),
        *([item.kind] if given.kind else []),
        clean(item.title),
        style.state(item.state),
        style.cyan(author),
        day(item.created_at if given.created else item.updated_at or item.created_at),
        *([_list_branches(item, width() // 4 if context.is_fitted else _UNBOUNDED)] if given.branches else []),
        style.dim(fit(labels, _LABEL_COLUMNS) if context.is_fitted else labels),
    ]


def _list_branches(item: "ListedItem", columns: int) -> str:
    """Return `feature → main`: of both names the first is the one that may be cut."""
    source, target = clean(item.source_branch), clean(item.target_branch)
    if not source or not target:
        return fit(source or target, columns)
    target = fit(target, columns // 2)
    return f"{fit(source, max(4, columns - cells(target) - 3))} → {target}"


def add_count_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes, discussions, releases, items, threads or notes")
    add_query(parser)
    add_filters(parser, with_type=False)


def run_count(context: Context, arguments: argparse.Namespace) -> "RowCount":
    count = context.history.count(arguments.kind, " ".join(arguments.query), **read_filters(context, arguments))
    context.warn(*count.warnings)
    with_parts = len(count.by) > 1 or "threads" in count.by  # which of the two kinds of discussions they are
    parts = (
        ", ".join(f"{number(rows)} {_NOTE_KINDS.get(name, name)}" for name, rows in count.by.items())
        if with_parts
        else ""
    )
    total = context.style.bold(number(count.total))
    context.print(f"{count.kind.capitalize()}: {total}" + (f"  ({parts})" if parts else ""))
    return count


def add_show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ref",
        metavar="REF",
        nargs="+",
        help="#12, !34, owner/repo#12, a page's URL, a release's tag, a commit, a file, or: issue 12; or several",
    )
    parser.add_argument("--project", metavar="NAME", action=Once, help="the project a bare number belongs to")
    add_repo(parser)
    parser.add_argument("--system", action="store_true", help="show the forge's own notes too")
    parser.add_argument("--web", "-w", action="store_true", help="open it in the browser instead")
    parser.add_argument("--document", action="store_true", help="as plain text with a structured header, for agents")


def run_show(context: Context, arguments: argparse.Namespace) -> "StoredItem | list[StoredItem]":
    from forgelore.api import split_refs

    project = context.history.projects.name(arguments.project)
    refs = split_refs(arguments.ref)
    found = _load_items(context, refs, project, with_document=arguments.document)
    if arguments.web:
        _open_pages(context, [ref for ref, _ in found], project)
    elif not context.is_data:
        for at, (_, item) in enumerate(found):
            context.print(*([context.style.dim("─" * min(width(), 110))] if at else []))
            _print_shown(context, item, with_system=arguments.system)
    return found[0][1] if len(refs) == 1 else [item for _, item in found]


def _load_items(
    context: Context, refs: list[tuple[str, ...]], project: str | None, *, with_document: bool
) -> "list[tuple[tuple[str, ...], StoredItem]]":
    """Return the items that were found. Errors of the others are reported at the end, or at once if none was."""
    found, errors = [], []
    for ref in refs:
        try:
            found.append((ref, context.history.show(*ref, project=project, with_document=with_document)))
        except (InvalidValue, NotFound) as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    for other in errors[1:]:
        context.warn(other.message)
    if errors:
        context.fail(errors[0])
    return found


def _open_pages(context: Context, refs: list[tuple[str, ...]], project: str | None) -> None:
    pages = [context.history.find_page(*ref, project=project) for ref in refs]
    for page in pages:
        context.open_page(page)


def _print_shown(context: Context, item: "StoredItem", *, with_system: bool) -> None:
    if item.document is not None:
        context.print(*printable(item.document).split("\n"))
    else:
        _print_item(context, item, with_system=with_system)


def _print_item(context: Context, item: "StoredItem", *, with_system: bool) -> None:
    style, columns = context.style, min(width(), 110)
    reason = f" ({clean(item.state_reason).replace('_', ' ')})" if item.state_reason else ""
    context.print(f"{style.bold(clean(item.title))}  {style.dim(clean(item.ref))}")
    marks = [style.red("gone from the forge")] if item.deleted_at else []
    marks += [style.yellow("confidential")] if item.is_confidential else []
    author = f"@{clean(item.author)}" if item.author else "somebody who left"
    author = "" if item.kind == "file" else author
    facts = [
        style.state(item.state) + reason if item.state else "",
        *marks,
        item.kind,
        f"by {style.cyan(author)}" if author else "",
        day(item.created_at),
    ]
    context.print(" · ".join(fact for fact in facts if fact))
    for name, value in (
        ("project", item.project),
        ("labels", ", ".join(map(clean, item.labels))),
        ("url", clean(item.url)),
        ("branch", _shown_branches(item)),
        ("reviews", ", ".join(map(_describe_reviewer, item.reviewers))),
    ):
        if value:
            context.print(f"{style.dim(name + ':'):<10} {value}")
    _print_links(context, item)
    if item.kind == "file":
        context.print("", *printable(item.body or "").split("\n"))
    elif item.kind != "commit" or item.body:
        context.print("", *wrap(item.body or style.dim("no description"), columns))
    if item.files:
        context.print(
            "", style.bold(f"{len(item.files)} files"), *(f"  {_file_line(style, file)}" for file in item.files[:20])
        )
        if len(item.files) > 20:
            context.print(style.dim(f"  … and {len(item.files) - 20} more"))
    _print_commits(context, item)
    for thread in item.threads:
        _print_thread(context, thread, columns, with_system=with_system)


def _print_commits(context: Context, item: "StoredItem") -> None:
    style = context.style
    if item.kind == "commit":
        context.print("", style.dim(f"with its diff: forgelore show {item.ref} --document"))
    if item.commits:
        context.print("", style.bold(f"{len(item.commits)} commits"))
        rows = [[one.ref, day(one.authored_at), clean(one.title)] for one in item.commits[:20]]
        context.print(*(f"  {line}" for line in table(rows, grow=2, columns=width() - 2)))
        if len(item.commits) > 20:
            context.print(style.dim(f"  … and {len(item.commits) - 20} more"))


def _shown_branches(item: "StoredItem") -> str:
    return (
        f"{clean(item.source_branch)} → {clean(item.target_branch)}"
        if item.source_branch and item.target_branch
        else ""
    )


def _describe_reviewer(one: "StoredReviewer") -> str:
    said = (one.verdict or "").replace("_", " ")
    return f"@{clean(one.login)} {', '.join(part for part in (said, 'awaited' if one.is_awaited else '') if part)}"


def _file_line(style: Style, file: "StoredFile") -> str:
    paint = {"added": style.green, "deleted": style.red, "renamed": style.yellow}.get(file.status, str)
    old = f" (was {clean(file.old_path)})" if file.status == "renamed" else ""
    return f"{paint(file.status[0])} {clean(file.new_path)}{old}"


def _print_links(context: Context, item: "StoredItem") -> None:
    style = context.style
    groups: dict[str, list[str]] = {}
    for link in item.links:
        groups.setdefault(_RELATIONS[link.relation], []).append(
            clean(link.ref) + (" (withdrawn)" if link.is_withdrawn else "")
        )
    for back in item.linked_from:
        is_pending = back.relation == "closes" and item.state == "open"
        name = "would be closed by" if is_pending else _BACK[back.relation]
        groups.setdefault(name, []).append(clean(back.ref))
    for name, refs in groups.items():
        more = f" … {len(refs) - 12} more" if len(refs) > 12 else ""
        context.print(f"{style.dim(name + ':')} {', '.join(dict.fromkeys(refs[:12]))}{more}")


def _print_thread(context: Context, thread: "StoredThread", columns: int, *, with_system: bool) -> None:
    style = context.style
    notes = [note for note in thread.notes if with_system or not note.is_system]
    if not notes:
        return
    place = f"{clean(thread.path)}:{thread.line or ''}" if thread.path else ""
    if place:
        by = f" by @{clean(thread.resolved_by)}" if thread.resolved_by else ""
        resolved = style.green(f" resolved{by}") if thread.is_resolved else ""
        context.print("", style.yellow(place) + resolved)
    for note in notes:
        flags = [
            flag
            for flag, is_set in (
                ("internal", note.is_internal),
                ("answer", note.is_answer),
                ("system", note.is_system),
            )
            if is_set
        ]
        author = f"@{clean(note.author)}" if note.author else "somebody who left"
        context.print(
            "",
            f"{style.dim('│')} {style.cyan(author)} {style.dim(day(note.created_at))}"
            f" {style.yellow(' '.join(flags))}".rstrip(),
        )
        context.print(*(f"{style.dim('│')} {line}".rstrip() for line in wrap(note.body or "", columns - 2)))


COMMANDS = {
    "list": Command(
        add_list_arguments,
        run_list,
        (
            "forgelore list issues --state open",
            "forgelore list issues 'label:bug -author:ana no:milestone created:>2026-01 sort:comments'",
            "forgelore list prs --author @ana --limit 10",
            "forgelore list prs -L 10 -s all author:ana       the same, as in gh",
            "forgelore list issues --label bug --label regression --json",
            "forgelore list prs --path src/ --state open --state merged --after '3 months ago'",
            "forgelore list discussions --sort comments      of either kind: items, or threads below items",
            "forgelore list releases --project acme/web --sort created",
            "forgelore list issues --limit 1000 --format tsv | cut -f 1,4",
            *filter_examples("forgelore list issues"),
        ),
    ),
    "count": Command(
        add_count_arguments,
        run_count,
        (
            "forgelore count issues",
            "forgelore count issues --label bug --after 2026-01-01",
            "forgelore count issues 'label:bug no:assignee is:open'",
            "forgelore count notes --author @ana --project acme/web",
            "forgelore count discussions              of either kind: items, or threads below items",
            "forgelore count items --json",
            *filter_examples("forgelore count issues"),
        ),
    ),
    "show": Command(
        add_show_arguments,
        run_show,
        (
            "forgelore show '#12'",
            "forgelore show '!34' --project gitlab:group/app",
            "forgelore show acme/web#12 --json",
            "forgelore show 12 --repo acme/web -w",
            "forgelore show https://github.com/acme/web/issues/12",
            "forgelore show v1.2.0",
            "forgelore show 1a2b3c4d --document     a commit with its diff",
            "forgelore show '#41' '#48'             both, one after the other",
            "forgelore show '#12' --system          with the forge's own notes",
            "forgelore show '#12' --web             open it in the browser",
            "forgelore show '#12' --document --db history.db",
            "forgelore show '#12' --color always --no-pager | less -R",
        ),
    ),
}
