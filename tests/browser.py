"""A real browser without a window, spoken to over a pipe (Chrome's DevTools protocol): what people would see of a page.

    with Browser(folder) as browser:
        seen = browser.open(page, width=400, scheme="dark")
        seen.requests, seen.problems, browser.evaluate("document.title"), browser.screenshot()

No name is resolved and no server is reached: what a page asks for is written down, and fails.
https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import time
from typing import NamedTuple, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0
# The browser reads commands from descriptor 3 and writes to 4, whatever numbers our pipes have.
_LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server",
    "--hide-scrollbars",
)  # fmt: skip


def find_browser() -> str | None:
    """Return the browser of the system's packages, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class SeenPage(NamedTuple):
    """What a page did while it loaded: addresses it asked for, those that its own policy stopped, and everything the
    console would show.
    """

    requests: list[str]
    blocked: list[str]
    problems: list[str]


class Browser:
    """One process and one page."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder, self._last, self._buffer = folder, 0, b""
        self._events: list[dict] = []

    def __enter__(self) -> Self:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        launch = [sys.executable, "-S", "-E", "-c", _LAUNCH, str(commands), str(answers), find_browser()]
        self._process = subprocess.Popen(
            [*launch, *_OPTIONS, f"--user-data-dir={self._folder / 'profile'}"], pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self._send(f"{domain}.enable")
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):
            os.close(self._write)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def open(
        self, page: pathlib.Path | str, *, width: int = 1280, height: int = 900, scheme: str = "light"
    ) -> SeenPage:
        """Load a file or an address in a window of that width, for a person who likes light or dark pages."""
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self._send("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        self._wait_for("Page.loadEventFired")
        return self.seen()

    def seen(self) -> SeenPage:
        """Return what the page has done since it was opened."""
        self.evaluate("1")  # what happened before this answer has arrived by then
        asked = {one["params"]["requestId"]: one["params"]["request"]["url"]
                 for one in self._named("Network.requestWillBeSent")}  # fmt: skip
        stopped = {one["params"]["requestId"] for one in self._named("Network.loadingFailed")
                   if one["params"].get("blockedReason")}  # fmt: skip
        requests = [url for key, url in asked.items() if key not in stopped]
        blocked = [url for key, url in asked.items() if key in stopped]
        problems = [one["params"]["entry"]["text"] for one in self._named("Log.entryAdded")]
        problems += [str(one["params"]) for name in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                                                     "Page.javascriptDialogOpening") for one in self._named(name)]  # fmt: skip
        return SeenPage(requests, blocked, problems)

    def evaluate(self, script: str) -> object:
        """Return what a script says of the page. It comes from outside: the page's own policy does not hold for it."""
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until a script says true; a page that is being left says nothing."""
        end = time.monotonic() + PATIENCE_S
        while self._send("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value") is not True:
            assert time.monotonic() < end, f"never so: {script}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press a key as a person does."""
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0)
        text = {"Enter": "\r", "Escape": "", "Tab": ""}.get(key, key)
        named = {"key": key, "windowsVirtualKeyCode": code}
        self._send("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self._send("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text: str) -> None:
        for letter in text:
            self.press(letter)

    def screenshot(self, *, whole: bool = True) -> bytes:
        """Return the whole page as a PNG, or what is in the window."""
        return base64.b64decode(self._send("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def _send(self, method: str, **parameters: object) -> dict:
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self._receive(end)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._events.append(answer)

    def _wait_for(self, name: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not self._named(name):
            self._events.append(self._receive(end))

    def _named(self, name: str) -> list[dict]:
        return [one for one in self._events if one.get("method") == name]

    def _receive(self, end: float) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
