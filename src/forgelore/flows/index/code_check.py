"""Code against what it is made from: texts against their hashes, chunks against their texts, words against both.

Every text is hashed and every row compared; a sample of the files is cut into chunks once more.
"""

from collections.abc import Iterator

from forgelore.core.code.pieces import cut_code
from forgelore.flows.progress import Watcher
from forgelore.store.checks import Fault
from forgelore.store.code_files import count_files, each_file, find_loose_parts, hash_text, load_chunks
from forgelore.store.db import Store
from forgelore.store.engine.code_words import CodeWords, find_code_damage, find_code_gaps

_INDEXES: tuple[tuple[CodeWords, str], ...] = (("code", "code_chunks"), ("commits", "commits"))


def find_wrong_code(store: Store, sample: int, watcher: Watcher) -> Iterator[Fault]:
    """Yield files and commits that are not what they were made from."""
    for index, table in _INDEXES:
        yield from (("code_differs", line, 0) for line in find_code_damage(store, index))
        yield from (("code_differs", f"words of {table} {one}", one) for one in find_code_gaps(store, index, table))
    yield from (("code_differs", f"{table} {one}", one) for table, one in find_loose_parts(store))
    total = sum(count_files(store).values())
    if not total:
        return
    watcher.begin("code", "files of code compared", total)
    yield from _compare_files(store, sample, max(1, total // max(sample, 1)), watcher)
    watcher.done("code")


def _compare_files(store: Store, sample: int, step: int, watcher: Watcher) -> Iterator[Fault]:
    for at, file in enumerate(each_file(store)):
        if hash_text(file.text) != file.text_hash:
            yield "code_differs", file.path, file.id
        elif sample and at % step == 0 and load_chunks(store, file.id) != cut_code(file.text, file.language):
            yield "code_differs", f"chunks of {file.path}", file.id
        watcher.saved("code", 1)
