"""A search process that stays, to be measured from outside: `resident.py STORE random|model QUESTIONS.json`.

`random` gives the query vectors, `model` makes them with the built-in embedder, whose memory then counts too.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # run by itself


def main() -> None:
    path, kind, questions = sys.argv[1:]
    from forgelore.embedders.lore import LoreEmbedder
    from forgelore.flows.search.retriever import Retriever
    from forgelore.flows.search.run import SearchRequest, search
    from forgelore.store.migrate import open_store
    from lib.tracker import Dice

    retriever = Retriever(open_store(path, create=False), Dice() if kind == "random" else LoreEmbedder())
    for text in json.loads(pathlib.Path(questions).read_text(encoding="utf-8")):
        answer = search(retriever, SearchRequest(text))
        assert answer.mode == "hybrid", answer.warnings


if __name__ == "__main__":
    main()
