"""`forgelore show REF`: an item with its conversation, readable in a terminal."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue, NotFound
from forgelore.surfaces.cli.filtering import Once, add_repo
from forgelore.surfaces.cli.terminal import Style, clean, table, width, wrap
from forgelore.surfaces.present.text import day, printable

if TYPE_CHECKING:
    from forgelore.api import ShownFile, ShownItem, ShownReviewer, ShownThread
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
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
)
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(context: "Context", arguments: argparse.Namespace) -> "ShownItem | list[ShownItem]":
    from forgelore.api import split_refs

    project = context.history.name_project(arguments.project)
    refs = split_refs(arguments.ref)
    found = _load(context, refs, project, with_document=arguments.document)
    if arguments.web:
        _open(context, [ref for ref, _ in found], project)
    elif not context.is_data:
        for at, (_, item) in enumerate(found):
            context.print(*([context.style.dim("─" * min(width(), 110))] if at else []))
            _print(context, item, with_system=arguments.system)
    return found[0][1] if len(refs) == 1 else [item for _, item in found]


def _load(
    context: "Context", refs: list[tuple[str, ...]], project: str | None, *, with_document: bool
) -> "list[tuple[tuple[str, ...], ShownItem]]":
    """Return the items that are there. What is wrong with the others is told in the end; of one alone, or of all, at
    once.
    """
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


def _open(context: "Context", refs: list[tuple[str, ...]], project: str | None) -> None:
    from forgelore.surfaces.cli.browser import open_page

    pages = [context.history.find_page(*ref, project=project) for ref in refs]
    for page in pages:
        open_page(context, page)


def _print(context: "Context", item: "ShownItem", *, with_system: bool) -> None:
    if item.document is not None:
        context.print(*printable(item.document).split("\n"))
    else:
        _print_item(context, item, with_system=with_system)


def _print_item(context: "Context", item: "ShownItem", *, with_system: bool) -> None:
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
        ("branch", _branch(item)),
        ("reviews", ", ".join(map(_reviewer, item.reviewers))),
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
            "", style.bold(f"{len(item.files)} files"), *(f"  {_file(style, file)}" for file in item.files[:20])
        )
        if len(item.files) > 20:
            context.print(style.dim(f"  … and {len(item.files) - 20} more"))
    _print_commits(context, item)
    for thread in item.threads:
        _print_thread(context, thread, columns, with_system=with_system)


def _print_commits(context: "Context", item: "ShownItem") -> None:
    style = context.style
    if item.kind == "commit":
        context.print("", style.dim(f"with its diff: forgelore show {item.ref} --document"))
    if item.commits:
        context.print("", style.bold(f"{len(item.commits)} commits"))
        rows = [[one.ref, day(one.authored_at), clean(one.title)] for one in item.commits[:20]]
        context.print(*(f"  {line}" for line in table(rows, grow=2, columns=width() - 2)))
        if len(item.commits) > 20:
            context.print(style.dim(f"  … and {len(item.commits) - 20} more"))


def _branch(item: "ShownItem") -> str:
    return (
        f"{clean(item.source_branch)} → {clean(item.target_branch)}"
        if item.source_branch and item.target_branch
        else ""
    )


def _reviewer(one: "ShownReviewer") -> str:
    said = (one.verdict or "").replace("_", " ")
    return f"@{clean(one.login)} {', '.join(part for part in (said, 'awaited' if one.is_awaited else '') if part)}"


def _file(style: Style, file: "ShownFile") -> str:
    paint = {"added": style.green, "deleted": style.red, "renamed": style.yellow}.get(file.status, str)
    old = f" (was {clean(file.old_path)})" if file.status == "renamed" else ""
    return f"{paint(file.status[0])} {clean(file.new_path)}{old}"


def _print_links(context: "Context", item: "ShownItem") -> None:
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


def _print_thread(context: "Context", thread: "ShownThread", columns: int, *, with_system: bool) -> None:
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
