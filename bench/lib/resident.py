"""A search process that stays, to be measured from outside: `resident.py STORE random|model QUESTIONS.json`.

`random` gives the query vectors, `model` makes them with the built-in embedder, whose memory then counts too.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # run by itself


def main() -> None:
    path, kind, questions = sys.argv[1:]
    import forgelore
    from forgelore.search.retriever import Retriever
    from lib.tracker import Dice

    history = forgelore.open(path)
    if kind == "random":
        history._retrievers[history.app.config.embedder] = Retriever(history.app.store(), Dice())  # noqa: SLF001
    for text in json.loads(pathlib.Path(questions).read_text(encoding="utf-8")):
        answer = history.search(text)
        assert answer.mode == "hybrid", answer.warnings


if __name__ == "__main__":
    main()
