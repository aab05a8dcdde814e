"""Processes of `forgelore serve`, and how browsers and programs ask them."""

import contextlib
import os
import re
import subprocess
import sys

import httpx

ACTS = "<img src=x onerror=document.title='hacked'><script>document.title='hacked'</script>"


class Site:
    """A running server, and how a browser asks it."""

    def __init__(self, url, **headers):
        self.url = url
        self.client = httpx.Client(base_url=url, timeout=60, headers=headers)

    def get(self, path, **more):
        return self.client.get(path, **more)

    def text(self, path):
        answer = self.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.text

    def data(self, path):
        answer = self.get(path)
        assert answer.status_code == 200, answer.text[:500]
        return answer.json()["data"]

    def token(self):
        """The token that forms carry."""
        return self.token_of("/duplicates")

    def token_of(self, path):
        return re.search(r'name="token" value="(\w+)"', self.text(path))[1]

    def post(self, path, *, origin=None, **form):
        headers = {} if origin is None else {"origin": origin}
        return self.client.post(path, data=form, headers=headers)


@contextlib.contextmanager
def serving(db, home, *words, **more):
    """Start a server on a free port; it ends with the test."""
    command = [sys.executable, "-m", "forgelore", "serve", "--db", str(db), "--port", "0", *words]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "FORGELORE_SECOND_EMBEDDER": "none", **more}
    with subprocess.Popen(command, env=env, cwd=home, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found, line + process.stderr.read()
            yield found[0]
        finally:
            process.terminate()
            process.wait(20)
