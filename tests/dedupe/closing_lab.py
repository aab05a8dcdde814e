"""A forge with duplicates on it, decisions about them, and the chain from clusters to closings and back."""

from forgelore.context import JobContext
from forgelore.dedupe.apply import ApplySettings, apply_plan, load_plan
from forgelore.dedupe.overrides import override
from forgelore.dedupe.plan import ClusterSettings, PlanSettings, canonicalize, plan_closings
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.rollback import load_applied, roll_back
from forgelore.store.decisions import Decision, begin_run, save_decision
from forgelore.store.projects import list_projects


def let_ana_write(lab):
    """Make ana, whose token the lab has, a maintainer of its project."""
    if lab.has_shared_numbers:
        lab.project.add_collaborator("ana", "admin")
    else:
        lab.server.tokens[lab.good_token].scopes = ("api",)
        lab.project.add_member("ana", 40)


class ClosingLab:
    """Numbers are those of the forge; `decide(2, 1)` says that 2 repeats 1, as an accepted decision would."""

    def __init__(self, lab):
        self.lab = lab
        self.project = lab.project
        self.app = lab.app

    def __getattr__(self, name):
        return getattr(self.lab, name)

    def add(
        self,
        title="Crash on start",
        body="It says EACCES when it starts, and then its window closes by itself",
        *,
        kind="issue",
        author="zoe",
        **more,
    ):
        add = self.project.add_issue if kind == "issue" else self.project.add_change
        return add(title, body, author=author, **more)

    def prepare(self, copies=1, *, kind="issue", confidence=0.97, author=""):
        """An original and its copies, synced and decided; returns their numbers. Each has an author of its own, unless
        one is named.
        """
        numbers = [self.add(kind=kind, author=author or f"user{at}") for at in range(copies + 1)]
        if self.lab.path == "acme/web" and "forgejo" in self.lab.name_text:
            self.named = ("ana",)
        self.lab.sync()
        for number in numbers[1:]:
            self.decide(number, numbers[0], kind=kind, confidence=confidence)
        return numbers

    named: tuple[str, ...] = ()

    @property
    def store(self):
        return self.app.store()

    @property
    def stored(self):
        return list_projects(self.store)[0]

    @property
    def forge(self):
        return self.app.forge(self.stored.name)

    def id_of(self, number, kind="issue"):
        return self.store.value("SELECT id FROM items WHERE kind = ? AND number = ?", kind, number)

    def decide(
        self, number, target, *, kind="issue", confidence=0.97, judge="builtin", model="rules-1", min_edge=0.85,
        min_gap=0.26,
    ):  # fmt: skip
        """As a run of `dedupe judge` with these thresholds would."""
        facts = dict.fromkeys(Decision._fields) | {"policy": "batch", "prompt_hash": "", "verdict": "", "reason": ""}
        facts |= {"project_id": self.stored.id, "item_id": self.id_of(number, kind), "outcome": "accepted"}
        facts |= {"target_id": self.id_of(target, kind), "confidence": confidence, "judge": judge, "model": model}
        thresholds = {"min_edge": min_edge, "min_gap": min_gap}
        with self.store.transaction():
            run_id = begin_run(self.store, self.stored.id, "judge", thresholds, 1_000)
            facts |= {"run_id": run_id, "prompt_tokens": 0, "answer_tokens": 0}
            save_decision(self.store, Decision(**facts), 1_000)

    def say(self, action, number, target=None, kind="issue"):
        other = self.id_of(target, kind) if target else None
        now = self.time.now_ms()
        return override(self.store, self.stored.id, action, self.id_of(number, kind), other, said_by="ana", now_ms=now)

    def cluster(self, **more):
        return canonicalize(self.job, ClusterSettings(maintainers=self.named, **more))

    def plan(self, *, is_dry=False, **more):
        settings = PlanSettings(maintainers=self.named, **more)
        return plan_closings(self.job, settings, dry_run=is_dry)

    def planned(self, **more):
        """Cluster and plan; returns the number of the plan."""
        self.cluster()
        return self.plan(**more).run

    def apply(self, run, **more):
        settings = ApplySettings(**{"is_unproven": True, "maintainers": self.named, **more})
        plan = load_plan(self.store, run)
        return apply_plan(self.job, self.forge, plan, settings)

    def roll_back(self, run, **more):
        return roll_back(self.job, self.forge, load_applied(self.store, run), **more)

    @property
    def job(self):
        return JobContext(self.store, self.stored, self.time.now_ms, sleep=self.app.sleep)

    def writes(self, since=0):
        """Requests that change something, but for GraphQL's questions."""
        sent = self.server.requests[since:]
        return [
            one for one in sent
            if one["method"] != "GET" and not (one["url"].endswith("graphql") and "mutation" not in (one["body"] or ""))
        ]  # fmt: skip

    def item(self, number, kind="issue"):
        if self.lab.has_shared_numbers:
            return self.project.items[number]
        return self.project.items(kind)[number]

    def portrait(self, numbers, kind="issue"):
        """What a person sees of items, the timeline aside."""
        return {number: self._portrait(self.item(number, kind)) for number in numbers}

    def _portrait(self, item):
        original = item.duplicate_of
        links = [one for one in getattr(self.project, "links", ()) if item in (one.source, one.target)]
        if hasattr(item, "comments"):
            comments = [one.body for one in item.comments]
        else:
            comments = [note.body for note in item.notes() if not note.system]
        state = "open" if item.state in ("open", "opened") else item.state
        return state, sorted(item.labels), original and original.title, len(links), comments


def actions(result):
    """Number -> what became of it in an apply."""
    return {line.number: line.action for line in result.lines}


def reasons(result):
    """Number -> why it stays open, of a plan or an apply; None: it is (to be) closed."""
    return {line.number: ReasonCode(line.reason) if line.reason else None for line in result.lines}


def approve(closing, number):
    if closing.has_shared_numbers:
        closing.project.review(number, "", author="ben", state="APPROVED")
    else:
        closing.item(number, "change").approved_by = ["ben"]


def let_merge(closing, number):
    if closing.forge.name == "github":
        closing.item(number, "change").is_merging = True
    elif closing.has_shared_numbers:
        closing.project.record_event(
            closing.item(number, "change"), "auto_merge_enabled", "ben", closing.project.world.now()
        )
    else:
        closing.item(number, "change").extra["merge_when_pipeline_succeeds"] = True


def push(closing, number):
    closing.project.push(number, [("added", "more.py")])
