"""From the first sync to the comment, as a person types it: the same commands on every forge."""

import pytest

CRASH = "The exporter crashes with a segmentation fault when the disk is full. See exporter.cpp:812"


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def lab(request):
    return request.getfixturevalue(request.param)


class Typed:
    """A synced project with two reports of one crash, and a hand at the keyboard."""

    def __init__(self, lab, cli):
        self.lab, self._cli = lab, cli
        lab.populate(issues=6, changes=3, releases=2)
        self.first = lab.project.add_issue("Exporter crashes on a full disk", CRASH, labels=["full disk"])
        lab.on_issue("comment", self.first, "A quokka told me the same.")
        lab.time.pass_by(120)
        self.second = lab.project.add_issue("Exporter crashes on a full disk", CRASH)
        assert self("sync", lab.name_text).code == 0

    def __call__(self, *words, **more):
        if self.lab.server.kind == "gitlab":
            self.lab.server.tokens[self.lab.good_token].scopes = ("api",)
        environ = {**self.lab.environ(self.lab.good_token), **more}
        return self._cli(*words, FORGELORE_REQUESTS_PER_SECOND="100", **environ)

    def post(self):
        """Triage the second report, and return what became of the comment."""
        done = self("triage", f"#{self.second}", "--post", "--json")
        assert done.code == 0, done.out
        return done.data["comment"]

    def said(self):
        if self.lab.has_shared_numbers:
            return [note.body for note in self.lab.project.items[self.second].comments]
        return [note.body for note in self.lab.project.item("issue", self.second).notes() if not note.system]


@pytest.fixture
def typed(lab, cli):
    return Typed(lab, cli)


def test_what_was_synced_is_listed_counted_shown_and_found(typed):
    assert [item["number"] for item in typed("list", "issues", "--label", "full disk", "--json").data] == [typed.first]
    shown = typed("show", f"#{typed.first}", "--json").data
    assert (shown["title"], shown["body"], shown["labels"]) == (
        "Exporter crashes on a full disk", CRASH, ["full disk"],
    )  # fmt: skip
    assert "quokka" in typed("show", f"{typed.lab.name_text}#{typed.first}").out
    assert [hit["number"] for hit in typed("search", "quokka", "--json").data["hits"]] == [typed.first]
    assert "8" in typed("count", "issues").out


def test_a_list_of_changes_shows_from_where_to_where(typed):
    listed = typed("list", "mrs", "--json").data
    assert listed
    assert all(one["source_branch"] and one["target_branch"] for one in listed)
    for one, line in zip(listed, typed("list", "prs").out.splitlines(), strict=True):
        assert f"{one['source_branch']} → {one['target_branch']}" in line
    narrow = typed("list", "mrs", COLUMNS="60").out.splitlines()
    assert max(map(len, narrow)) <= 60
    assert all(line.endswith(f"→ {one['target_branch']}") for one, line in zip(listed, narrow, strict=True))
    assert "→" not in typed("list", "issues").out


def test_a_comment_is_made_kept_changed_and_taken_back(typed):
    assert typed.post() == "created"
    assert len(typed.said()) == 1
    assert "/issues/" in typed.said()[0]
    assert typed.post() == "unchanged"
    typed.lab.on_issue("close", typed.first)
    typed.lab.time.pass_by(600)
    assert typed("sync", typed.lab.name_text).code == 0
    assert typed.post() == "updated"
    typed.lab.on_issue("delete", typed.first)
    typed.lab.time.pass_by(600)
    assert typed("sync", typed.lab.name_text).code == 0
    assert typed.post() == "deleted"
    assert typed.said() == []


def test_the_checkup_finds_nothing_wrong(typed):
    """Nor a set-up of triage where nobody made one, or where there is no recipe for one."""
    checks = typed("doctor", "--json").data["checks"]
    assert [check["status"] for check in checks if check["check"] == "token"] == ["ok"]
    assert [check for check in checks if check["check"] == "triage"] == []


def test_a_server_nobody_described_is_asked_what_it_is(forgejo, cli):
    """By the address of the project, and then by the addresses of its pages."""
    number = forgejo.project.add_issue("Crash", "It crashes.")
    change = forgejo.project.add_change("Fix the crash", f"Fixes #{number}")
    home = f"{forgejo.server.url}/acme/web"
    assert cli("sync", home).code == 0
    assert cli("show", f"{home}/issues/{number}", "--json").data["title"] == "Crash"
    assert cli("show", f"{home}/pulls/{change}", "--json").data["title"] == "Fix the crash"
    assert not [path for path in forgejo.server.paths() if "/collaborators" in path], "that needs a token"


def test_a_hit_in_a_thread_has_the_address_of_its_note(typed):
    """Not that of the first note of the conversation, nor that of the item."""
    typed.lab.on_issue("comment", typed.first, "Another one says: only on wednesdays, with the wombat driver.")
    typed.lab.time.pass_by(600)
    assert typed("sync", typed.lab.name_text).code == 0
    urls = [typed("search", word, "--json").data["hits"][0]["url"] for word in ("quokka", "wombat")]
    item = typed("show", f"#{typed.first}", "--json").data
    notes = {note["body"]: note["url"] for thread in item["threads"] for note in thread["notes"]}
    assert urls == [next(url for body, url in notes.items() if word in body) for word in ("quokka", "wombat")]
    assert len({*urls, item["url"]}) == 3
    assert urls[1] in typed("search", "wombat").out.split()
