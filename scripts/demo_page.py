"""The last part of `make demo`: the example project as a web page.

On a terminal the page is served until Ctrl-C, and its address is printed. Elsewhere it is visited once, so that whoever
runs `make demo` in a script learns whether it works.
"""

import os
import re
import subprocess
import sys
import tempfile
import urllib.request

PATHS = ("/", "/search?q=deleted+files", "/duplicates", "/item/%2341")
PORT = "8788"


def main():
    with tempfile.TemporaryDirectory(prefix="forgelore-demo-") as folder:
        env = {**os.environ, "FORGELORE_DB": os.path.join(folder, "demo.db"), "FORGELORE_SECOND_EMBEDDER": "none"}
        program = [sys.executable, "-m", "forgelore"]
        for words in (["demo", "--keep", env["FORGELORE_DB"]], ["dedupe", "candidates"]):
            subprocess.run(
                [*program, *words], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        if sys.stdout.isatty():
            print("\nThe same project as a web page. Ctrl-C ends it.")
            return subprocess.call([*program, "serve", "--port", PORT], env=env)
        return visit([*program, "serve", "--port", "0"], env)


def visit(command, env):
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            found = re.search(r"http://[\d.:]+", line)
            if not found:
                print(line + process.stderr.read(), file=sys.stderr)
                return 1
            sizes = [len(urllib.request.urlopen(found[0] + path, timeout=60).read()) for path in PATHS]
        finally:
            process.terminate()
    print(f"\nThe same project as a web page: {len(sizes)} pages answered. To look at it: forgelore serve")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
