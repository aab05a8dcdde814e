"""Rows for other programs: what was found, as TSV, as CSV, or as one JSON object per line.

TSV and CSV have a line with the names of the columns, and no control characters. In TSV a tab or a line break within a
value is a blank. In CSV a value that a spreadsheet would compute (it begins with = + - @) has an apostrophe before it:
titles are written by strangers. JSON lines have every value as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from forgelore.surfaces.present.data import JsonValue, as_data
from forgelore.surfaces.present.text import clean, printable

COLUMNS = ("ref", "kind", "state", "title", "author", "created_at", "updated_at", "labels", "project", "url")
HIT_COLUMNS = (*COLUMNS, "representation")  # what was found of it: the item itself, one of its threads …
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")


def write_rows(chosen: str, rows: Iterable[object], columns: Sequence[str]) -> Iterator[str]:
    """Yield the lines of structs in one of `ROW_FORMATS`."""
    return ROW_FORMATS[chosen]([_fields(row) for row in rows], columns)


def _fields(row: object) -> dict[str, JsonValue]:
    data = as_data(row)
    assert isinstance(data, dict)
    return data


def _write_json_lines(rows: Iterable[dict[str, JsonValue]], _columns: Sequence[str]) -> Iterator[str]:
    import json

    return (json.dumps(row, ensure_ascii=False) for row in rows)


def _write_tsv(rows: Iterable[dict[str, JsonValue]], columns: Sequence[str]) -> Iterator[str]:
    yield "\t".join(columns)
    for row in rows:
        yield "\t".join(clean(_text(row.get(name))) for name in columns)


def _write_csv(rows: Iterable[dict[str, JsonValue]], columns: Sequence[str]) -> Iterator[str]:
    import csv
    import io

    yield ",".join(columns)
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_quoted(_text(row.get(name))) for name in columns])
        yield line.getvalue()


def _quoted(text: str) -> str:
    return f"'{printable(text)}" if text.startswith(_COMPUTED) else printable(text)


def _text(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return "" if value is None else str(value)


ROW_FORMATS: dict[str, Callable[[Iterable[dict[str, JsonValue]], Sequence[str]], Iterator[str]]] = {
    "tsv": _write_tsv,
    "csv": _write_csv,
    "jsonl": _write_json_lines,
}
