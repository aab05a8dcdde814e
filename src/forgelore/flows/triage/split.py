"""Judgements between two jobs: what the reader says, and all that the writer believes of it."""

import msgspec

from forgelore.errors import InvalidValue
from forgelore.flows.triage.item import Judgement, TriageResult

MAX_BYTES = 100_000


def build_judgement(project: str, triaged: TriageResult) -> bytes:
    """Return what the reader found, as the writer takes it."""
    numbers = [int(row.ref.lstrip("#!")) for row in triaged.report.rows] if triaged.report else []
    is_warned = triaged.outcome in ("duplicate", "regression")  # which of the two, the writer sees for itself
    duplicate_of = triaged.first_number if is_warned else None
    judgement = Judgement(1, project, triaged.key.kind, triaged.key.number, numbers, duplicate_of)  # type: ignore[arg-type]
    return msgspec.json.encode(judgement) + b"\n"


def parse_judgement(raw: bytes) -> Judgement:
    """Return a judgement of exactly the shape we know. Raises InvalidValue for anything else."""
    if len(raw) > MAX_BYTES:
        raise InvalidValue("the judgement is too large", hint="let the reader job run again")
    try:
        return msgspec.json.decode(raw, type=Judgement, strict=True)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidValue(f"the judgement has not the expected shape: {error}", hint="it is not applied") from error
