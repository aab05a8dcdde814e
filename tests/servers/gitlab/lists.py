"""Which issues or changes does a list request select, and in which order?"""

import operator

from . import payloads
from .call import Call
from .paging import paginate, paginate_keyset
from .routing import Answer

STATES = ("opened", "closed", "locked", "merged", "all")
ORDERS = ("created_at", "updated_at", "title")
OTHER_ORDERS = (
    "due_date",
    "label_priority",
    "merged_at",
    "milestone_due",
    "popularity",
    "priority",
    "weight",
)


def items(call: Call, ref, items):
    home, kind = call.tracker(ref, items)
    order = call.choice("order_by", ORDERS + OTHER_ORDERS, "created_at")
    field = order if order in ORDERS else "created_at"
    descending = call.choice("sort", ("asc", "desc"), "desc") == "desc"
    rows = filter_items(call, home, kind)
    rows.sort(key=operator.attrgetter(field, "id"), reverse=descending)
    if kind == "issue" and call.arg("pagination") == "keyset":
        wanted, headers = paginate_keyset(call, rows, field, descending=descending)
    else:
        wanted, headers = paginate(call, rows, keyset_type="Issue" if kind == "issue" else None)
    details = call.flag("with_labels_details", default=False)
    if kind == "issue":
        rows = [payloads.issue(i, label_details=details, duplicate=call.sees_duplicate(i)) for i in wanted]
    else:
        rows = [payloads.change(item, label_details=details) for item in wanted]
    return Answer(rows, headers)


def filter_items(call: Call, home, kind: str, *, by_state: bool = True) -> list:
    rows = [item for item in home.items(kind).values() if call.may_read(item)]
    for keep in _conditions(call, kind, by_state=by_state):
        rows = [item for item in rows if keep(item)]
    return rows


def _conditions(call: Call, kind: str, *, by_state: bool):
    """The filters that were asked for, as predicates; every value is checked before any is applied."""
    state = call.choice("state", STATES if kind == "change" else ("opened", "closed", "all"), "all")
    if by_state and state != "all":
        yield lambda item: item.state == state
    yield from _time_conditions(call)
    numbers = call.request.query.get("iids[]", []) + call.request.query.get("iids", [])
    if numbers:
        wanted = {int(n) for text in numbers for n in text.split(",") if n.isdigit()}
        yield lambda item: item.iid in wanted
    labels = call.arg("labels")
    if labels:
        yield _label_condition(labels)
    scope = call.choice("scope", ("created_by_me", "assigned_to_me", "created-by-me", "assigned-to-me", "all"), "all")
    if scope.startswith("created"):
        yield lambda item: item.author == call.who
    if scope.startswith("assigned"):
        yield lambda item: call.who in item.assignees
    author = call.arg("author_username")
    if author:
        yield lambda item: item.author == author
    confidential = call.flag("confidential") if kind == "issue" else None
    if confidential is not None:
        yield lambda item: item.confidential is confidential
    words = (call.arg("search") or "").lower()
    if words:
        yield lambda item: words in f"{item.title}\n{item.body or ''}".lower()


def _time_conditions(call: Call):
    for field in ("created_at", "updated_at"):
        after, before = call.date(field.replace("_at", "_after")), call.date(field.replace("_at", "_before"))
        if after:
            yield lambda item, f=field, t=after: getattr(item, f) >= t
        if before:
            yield lambda item, f=field, t=before: getattr(item, f) <= t


def _label_condition(text: str):
    if text.lower() == "none":
        return lambda item: not item.labels
    if text.lower() == "any":
        return lambda item: bool(item.labels)
    wanted = set(text.split(","))
    return lambda item: wanted <= item.labels
