"""The pictures of the web page in README and docs: Home, Search and the review queue of the example project, light and
dark, as a real browser shows them.

    python scripts/web_pictures.py [FOLDER]        into docs/pictures, or into a folder

What is shown is as of the day it is run: ages of items grow. Run it after a change that people see.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {"home": "/", "search": "/search?q=deleted+files+come+back", "review": "/duplicates"}
WIDTH, HEIGHT = 1080, 620
MAX_BYTES = 150_000


def draw(folder):
    """Write the pictures, and return their paths."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import Browser

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        env = {**os.environ, "HOME": home, "FORGELORE_DB": f"{home}/demo.db", "FORGELORE_SECOND_EMBEDDER": "none"}
        program = [sys.executable, "-m", "forgelore"]
        for words in (["demo", "--keep", env["FORGELORE_DB"]], ["dedupe", "candidates"]):
            subprocess.run([*program, *words], env=env, check=True, capture_output=True)
        serve = [*program, "serve", "--port", "0", "--sync-every", "0"]
        with subprocess.Popen(serve, env=env, stderr=subprocess.PIPE, text=True) as process:
            try:
                address = re.search(r"http://[\d.:]+", process.stderr.readline())[0]
                with Browser(pathlib.Path(home)) as browser:
                    return [path for scheme in ("light", "dark") for path in _visit(browser, address, scheme, folder)]
            finally:
                process.terminate()


def _visit(browser, address, scheme, folder):
    for name, page in PAGES.items():
        browser.open(f"{address}{page}", width=WIDTH, height=HEIGHT, scheme=scheme)
        path = folder / f"web-{name}-{scheme}.png"
        path.write_bytes(browser.screenshot(whole=False))
        yield path


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    too_large = [path for path in draw(folder) if path.stat().st_size > MAX_BYTES]
    for path in too_large:
        print(f"{path}: {path.stat().st_size:,} bytes, more than {MAX_BYTES:,}", file=sys.stderr)
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
