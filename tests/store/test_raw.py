"""Raw payloads: small, readable again, without secrets."""

import pytest

from forgelore.net.pages import split_rows
from forgelore.store.payloads import load_payload, row_hash, save_payloads, without_secrets


def test_payloads_come_back_as_they_were_and_take_less_than_a_third(github):
    github.populate(issues=40, changes=20)
    github.sync()
    store = github.app.store()
    sizes = store.row("SELECT sum(size), sum(length(body)) FROM raw_payloads WHERE resource IN ('item', 'note')")
    assert sizes[1] < sizes[0] / 3
    project_id, digest = store.row("SELECT project_id, row_hash FROM items WHERE kind = 'issue' AND number = 1")
    client = github.app.forge(github.app.parse_project(github.name_text))._client
    listed = split_rows(client.get("/repos/acme/web/issues", {"state": "all", "per_page": 100}).body)
    assert load_payload(store, project_id, digest) in listed


@pytest.mark.parametrize("size", [1, 8_999, 9_000, 9_001, 70_000])
def test_a_payload_of_any_size_comes_back(github, size):
    """Small ones are packed with a smaller window, which whoever reads them need not know."""
    github.populate(issues=1, changes=0, discussions=0)
    github.sync()
    raw = b'{"body": "' + b"".join(b"%d " % n for n in range(size))[:size] + b'"}'
    store, digest = github.app.store(), row_hash(raw)
    with store.transaction():
        save_payloads(store, 1, "item", [(digest, raw)])
    assert load_payload(store, 1, digest) == raw


def test_token_fields_are_nulled_and_nothing_else():
    assert without_secrets(b'{"runners_token": "x", "name": "token"}') == b'{"runners_token": null, "name": "token"}'
