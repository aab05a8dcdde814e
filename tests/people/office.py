"""A project in which people ask each other for reviews, mention each other and resolve threads, on every forge."""


class Office:
    """One synced project. Its people: ana owns it, ben reviews, cid is asked and waits."""

    def __init__(self, lab):
        self.lab, project = lab, lab.project
        self.change = project.add_change(
            "Faster start", "Please look, @Ben. See `@property`.", author="ana",
            files=[("modified", "src/app/start.py"), ("added", "src/app/cache.py")], created_at="2026-03-01T10:00:00Z",
        )  # fmt: skip
        self.other = project.add_change(
            "Docs",
            "nothing to see",
            author="ben",
            files=[("modified", "docs/index.md")],
            created_at="2026-03-01T11:00:00Z",
        )
        self.issue = project.add_issue(
            "Crash", "It falls, says bo@example.com", author="dee", created_at="2026-03-01T12:00:00Z"
        )
        lab.on_issue(
            "comment", self.issue, "@ana and @BEN: can you reproduce this?", author="dee", at="2026-03-02T10:00:00Z"
        )
        for login in ("ben", "cid"):
            project.request_review(self.change, login, at="2026-03-02T11:00:00Z")
        if lab.has_shared_numbers:
            project.review(self.change, "", author="ben", state="APPROVED", at="2026-03-02T12:00:00Z")
            self.thread = project.review_comment(
                self.change, "why so?", author="ben", path="src/app/start.py", at="2026-03-02T13:00:00Z"
            )
            project.resolve_thread(self.thread, by="ana")
            self.open_thread = project.review_comment(
                self.change, "and this?", author="cid", path="src/app/cache.py", at="2026-03-02T14:00:00Z"
            )
            project.request_review(self.change, "cid", at="2026-03-02T15:00:00Z")  # his remarks were a review
        else:
            project.approve(self.change, "ben", at="2026-03-02T12:00:00Z")
            self.thread = project.discuss(
                "change",
                self.change,
                "why so?",
                author="ben",
                path="src/app/start.py",
                line=3,
                at="2026-03-02T13:00:00Z",
            )
            project.resolve(self.change, self.thread, by="ana", at="2026-03-02T13:30:00Z")
            self.open_thread = project.discuss(
                "change",
                self.change,
                "and this?",
                author="dee",
                path="src/app/cache.py",
                line=1,
                at="2026-03-02T14:00:00Z",
            )
        lab.sync()
        self.change_key, self.issue_key = f"change{self.change}", f"issue{self.issue}"

    def people(self, role):
        sql = "SELECT DISTINCT i.kind || i.number, p.login, p.verdict FROM item_people p JOIN items i ON i.id = p.item_id WHERE role = ?"
        return set(self.lab.rows(sql, role))

    def everything(self):
        """What the columns say, without the rows' own numbers."""
        people = "SELECT item_id, note_id, login, role, verdict, source, created_at FROM item_people WHERE source <> 'review'"
        threads = "SELECT id, is_resolved, resolved_by, resolved_at FROM threads"
        notes = "SELECT id, position_type, is_resolvable, is_resolved, resolved_by, resolved_at FROM notes"
        return [sorted(self.lab.rows(sql), key=repr) for sql in (people, threads, notes)]
