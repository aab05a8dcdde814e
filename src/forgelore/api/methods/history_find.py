"""The part of the facade that finds: search, similar, evaluate, calibrate."""

from typing import TYPE_CHECKING, Literal, Unpack

from forgelore.api.projects import find_project
from forgelore.app import App
from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.compare.calibrate import Calibrated
    from forgelore.compare.evaluate import Evaluation
    from forgelore.compare.similar import SimilarAnswer
    from forgelore.ports.embedder import Embedder
    from forgelore.ports.progress import Watcher
    from forgelore.search.retriever import Retriever
    from forgelore.search.run import SearchAnswer


Mode = Literal["hybrid", "lexical", "semantic", "fts", "vector"]


class FindingHistory:
    """What `History` can do to find things, and to measure how well."""

    app: App
    _retrievers: "dict[str, Retriever]"

    def search(
        self, text: str = "", *, mode: "Mode" = "hybrid", limit: int = 20, offset: int | str = 0,
        sort: str | None = None, is_raw: bool = False, is_literal: bool = False, embedder: str | None = None,
        is_rescored: bool = False, source: str = "raw", with_lines: bool = True, **filters: Unpack[FilterWords],
    ) -> "SearchAnswer":  # fmt: skip
        """Return the best hits for what a person would type, best first: words, phrases, exclusions, qualifiers, the
        number of an item; without a text, what the filters allow. Filters are those of the command line: one value or
        several, None for no filter, and an empty one is refused. `mode`: hybrid, lexical (or fts), semantic (or
        vector). `offset`: where the page begins, a number or `next_page` of the answer before, which tells when the
        question or the database is another one now. `sort`: created, updated or comments, with -asc the other way
        round; the query's own `sort:` comes first. `is_literal`: all of the text is words. `is_raw`: the text is FTS5
        syntax. `source`: raw, what people wrote; intent, the cards of `make_intent_cards`, which programs wrote.
        Without `with_lines`, hits of items do not say at which line of their reading text they were found.
        """
        from forgelore.api.find import build_search, name_hits, read_mode, read_source
        from forgelore.search.hits import name_hit_fits
        from forgelore.search.run import search_everything

        request = build_search(
            self.app, text, filters, mode=read_mode(mode), limit=limit, offset=offset, is_literal=is_literal,
            is_raw=is_raw, sort=sort,
        )._replace(source=read_source(source))  # fmt: skip
        rescorer = self._find_rescorer(embedder) if is_rescored else None
        retriever = self.retriever(embedder, is_lexical=request.mode == "lexical")
        answer = search_everything(retriever, request, rescorer=rescorer, with_lines=with_lines)
        return answer._replace(hits=name_hits(self.app, name_hit_fits(answer.hits)))

    def similar(
        self, ref: str | int, *, mode: "Mode" = "hybrid", limit: int = 20, offset: int | str = 0,
        is_earlier: bool = False, embedder: str | None = None, is_rescored: bool = False,
        **filters: Unpack[FilterWords],
    ) -> "SimilarAnswer":  # fmt: skip
        """Return what an item resembles, of its own kind unless the filters name types. `is_earlier`: only what was
        there before it, which it could repeat. `offset`: where the page begins, as for a search.
        """
        from forgelore.api.find import find_subject, name_hits, read_mode, search_filters
        from forgelore.compare.rank import CompareRequest
        from forgelore.compare.similar import find_similar, narrow
        from forgelore.search.filters import refuse_code
        from forgelore.search.query import parse_start

        meant, (start, seal) = read_mode(mode), parse_start(offset)
        project = find_project(self.app, filters.get("project"))
        subject = find_subject(self.app, ref, project)
        found = narrow(refuse_code(search_filters(self.app, filters, project)), subject, is_earlier=is_earlier)
        rescorer = self._find_rescorer(embedder) if is_rescored else None
        retriever = self.retriever(embedder, is_lexical=meant == "lexical")
        answer = find_similar(
            retriever, CompareRequest(subject, found, meant, limit, offset=start, seal=seal), rescorer=rescorer
        )
        named = name_hits(self.app, [one.hit for one in answer.hits])
        return answer._replace(
            hits=[one._replace(hit=hit) for one, hit in zip(answer.hits, named, strict=True)]
        )  # fmt: skip

    def evaluate(
        self, path: str, *, project: str | None = None, exclude: str | None = None, mode: "Mode" = "hybrid",
        embedder: str | None = None, is_time_ordered: bool = True, threshold: float | None = None,
        watcher: "Watcher | None" = None,
    ) -> "Evaluation":  # fmt: skip
        """Return how well a file of queries is answered. With a threshold of similarity, also how often a warning at it
        would have been right.
        """
        from forgelore.api.find import read_mode, read_queries
        from forgelore.compare.evaluate import EvaluationSetup, evaluate

        self.app.check_internal("confidential items, which may stand first among the hits of a query")
        meant = read_mode(mode)
        suite, excluded = read_queries(path, exclude)
        found, app = find_project(self.app, project), self.app
        setup = EvaluationSetup(found, app.hosts, app.now_ms(), meant, excluded, is_time_ordered, threshold)
        return evaluate(
            self.retriever(embedder, is_lexical=meant == "lexical"), suite, setup, watcher=self.app.watch(watcher)
        )

    def calibrate(
        self, *, project: str | None = None, embedder: str | None = None, is_dry: bool = False,
        watcher: "Watcher | None" = None,
    ) -> "list[Calibrated]":  # fmt: skip
        """Learn from the known duplicates of a project how sure a match is, of each kind; return what was learned."""
        from forgelore.api.find import find_calibrated
        from forgelore.compare.calibrate import calibrate

        found = find_calibrated(self.app, find_project(self.app, project))
        return calibrate(
            self.retriever(embedder), found.id, is_dry=is_dry, watcher=self.app.watch(watcher),
            should_stop=self.app.stop.is_set, now_ms=self.app.now_ms,
        )  # fmt: skip

    def retriever(self, embedder: str | None = None, *, is_lexical: bool = False) -> "Retriever":
        """Return what keeps vectors in memory between queries; a search by words needs none."""
        from forgelore.api.find import make_retriever

        name = "" if is_lexical else embedder or self.app.config.embedder
        if name not in self._retrievers:
            self._retrievers[name] = make_retriever(self.app, name)
        return self._retrievers[name]

    def _find_rescorer(self, embedder: str | None) -> "Embedder | None":
        from forgelore.api.find import find_rescorer

        return find_rescorer(self.app, embedder)
