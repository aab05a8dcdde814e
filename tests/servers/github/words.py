"""Made-up tracker prose: the same random source gives the same text.

Issues are drawn from (component, action, symptom); a duplicate keeps the three and says them in other words,
so that searches and duplicate finders have something true to find.
"""

COMPONENTS = (
    "login page", "export dialog", "search index", "file watcher", "settings panel", "image cache", "sync engine",
    "plugin loader", "command palette", "date picker", "upload queue", "session store", "markdown preview",
    "terminal pane", "update checker", "proxy client", "theme switcher", "crash reporter", "migration script",
    "websocket bridge", "tokenizer", "job scheduler", "health endpoint", "audit log", "invoice mailer",
)  # fmt: skip
ACTIONS = (
    "resizing the window", "opening a large file", "saving twice", "switching accounts", "pasting an image",
    "renaming a folder", "losing the network", "waking from sleep", "importing a CSV", "deleting the last row",
    "scrolling quickly", "using a proxy", "running as root", "changing the time zone", "enabling dark mode",
    "closing the laptop lid", "typing Japanese", "undoing a merge", "restoring a backup", "filtering by date",
)  # fmt: skip
SYMPTOMS = {
    "crashes": "dies with a segmentation fault",
    "hangs": "stops responding forever",
    "leaks memory": "grows until it is killed",
    "shows stale data": "displays old values",
    "loses the selection": "forgets what was selected",
    "ignores the timeout": "waits past the deadline",
    "writes a corrupt file": "produces broken output",
    "logs the password": "prints secrets to the log",
    "is very slow": "takes minutes instead of seconds",
    "returns error 500": "fails with an internal server error",
    "flickers": "redraws all the time",
    "sends duplicate requests": "calls the server twice",
}
SENTENCES = (
    "It worked in the previous release.", "I can reproduce this every time.", "Only some of our users see it.",
    "Happens on Linux and macOS, not on Windows.", "A clean profile makes no difference.",
    "The log ends with `panicked at src/main.rs:42`.", "See other/repo#3 for something similar.",
    "Could this be related to the new cache?", "Reverting the last dependency bump helps.",
    "日本語の入力でも発生します。", "Funktioniert mit älteren Versionen einwandfrei.", "🎉 thanks for the quick answer!",
    "The stack trace is the same as on our CI.", "zero\u200bwidth characters survive here.", "Workaround: restart it.",
)  # fmt: skip
REMARKS = (
    "nit: rename this", "Why not reuse the helper?", "This needs a test.", "Good catch.", "この行は不要です。",
    "Please handle the empty case.", "LGTM with that change.", "Can this overflow?", "Done in the last push.",
)  # fmt: skip
TEMPLATE = "### Steps to reproduce\r\n\r\n1. Start with {action}\r\n2. Look at the {component}\r\n\r\n### Actual\r\n\r\nIt {symptom}."
STEMS = (
    "core",
    "api",
    "ui/panel",
    "store/cache",
    "net/client",
    "util/dates",
    "docs/guide",
    "tests/test_sync",
    "assets/logo",
)
LABELS = {
    "bug": "d73a4a", "enhancement": "a2eeef", "documentation": "0075ca", "question": "d876e3", "good first issue": "7057ff",
    "area: ui": "c5def5", "area: network": "bfdadc", "wontfix": "ffffff", "優先": "e11d21",
}  # fmt: skip


def subject(rng) -> tuple[str, str, str]:
    return rng.choice(COMPONENTS), rng.choice(ACTIONS), rng.choice(tuple(SYMPTOMS))


def title(about: tuple[str, str, str]) -> str:
    component, action, symptom = about
    return f"{component.capitalize()} {symptom} when {action}"


def other_title(about: tuple[str, str, str]) -> str:
    component, action, symptom = about
    return f"After {action}, the {component} {SYMPTOMS[symptom]}"


def paragraph(rng) -> str:
    return " ".join(rng.sample(SENTENCES, rng.randint(1, 4)))


def body(rng, about: tuple[str, str, str]) -> str | None:
    """Mostly prose; now and then a filled template with CRLF, code, an empty text or none at all."""
    component, action, symptom = about
    kind = rng.random()
    if kind < 0.03:
        return None
    if kind < 0.06:
        return ""
    if kind < 0.3:
        return TEMPLATE.format(component=component, action=action, symptom=SYMPTOMS[symptom])
    text = f"The {component} {symptom} when {action}.\n\n{paragraph(rng)}"
    return f"{text}\n\n```python\nrun({component!r})\n```" if kind > 0.85 else text


def files(rng, number: int) -> list[tuple[str, ...]]:
    """Distinct paths with all four statuses somewhere; `number` keeps added names from meeting."""
    made = []
    for stem in rng.sample(STEMS, rng.randint(1, 5)):
        path = f"{stem}.png" if stem.startswith("assets") else f"src/{stem}.py"
        status = rng.choices(("modified", "added", "deleted", "renamed"), (6, 2, 1, 1))[0]
        new = path.replace(".", f"_{number}.")
        made.append(
            {"modified": (status, path), "added": (status, new), "deleted": (status, path)}.get(
                status, (status, path, new)
            )
        )
    return made
