"""forgelore from Python: `forgelore.open("history.db").search("deleted files come back")`.

Everything that a surface does goes through `History`, so that all of them give the same answers. The names below are
public: what the methods take and return, each with its fields documented where it is made. They are loaded when they
are first asked for: a command that only lists pays for nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgelore.api.bot import BotPlaces as BotPlaces
    from forgelore.api.bot import write_judgement as write_judgement
    from forgelore.api.browse import TreeEntry as TreeEntry
    from forgelore.api.checkup import DoctorCheck as DoctorCheck
    from forgelore.api.dedupe import IntentAnswer as IntentAnswer
    from forgelore.api.deduping.chain import DedupeChain as DedupeChain
    from forgelore.api.deduping.overrides import SaidOverride as SaidOverride
    from forgelore.api.fetch import ImportedFile as ImportedFile
    from forgelore.api.fetch import ReplayedProject as ReplayedProject
    from forgelore.api.fetch import SyncedProject as SyncedProject
    from forgelore.api.history import History as History
    from forgelore.api.history import make_history as make_history
    from forgelore.api.history import open_history as open_history
    from forgelore.api.index import BuiltDocuments as BuiltDocuments
    from forgelore.api.index import IndexedCode as IndexedCode
    from forgelore.api.index import IndexParts as IndexParts
    from forgelore.api.index import UpdatedIndex as UpdatedIndex
    from forgelore.api.setup import AddedHost as AddedHost
    from forgelore.api.setup import SetupAnswer as SetupAnswer
    from forgelore.api.setup import TokenOwner as TokenOwner
    from forgelore.api.tidy import TriageAnswer as TriageAnswer
    from forgelore.config import EMBEDDERS as EMBEDDERS
    from forgelore.core.ask.citations import CheckedCitation as CheckedCitation
    from forgelore.core.ask.citations import Claim as Claim
    from forgelore.core.ask.windows import LinePart as LinePart
    from forgelore.core.ask.windows import ReadingWindow as ReadingWindow
    from forgelore.core.ask.windows import ScrollDirection as ScrollDirection
    from forgelore.core.ask.windows import TextPlace as TextPlace
    from forgelore.core.audit.classes import AuditScores as AuditScores
    from forgelore.core.audit.classes import LaneAnswer as LaneAnswer
    from forgelore.core.audit.classes import MeasuredShare as MeasuredShare
    from forgelore.core.audit.pair_labels import PairLabel as PairLabel
    from forgelore.core.audit.simulation import GateBounds as GateBounds
    from forgelore.core.audit.simulation import SweptBound as SweptBound
    from forgelore.core.compare.calibration import Chance as Chance
    from forgelore.core.compare.calibration import Curve as Curve
    from forgelore.core.compare.evidence import Quote as Quote
    from forgelore.core.compare.facts import Explanation as Explanation
    from forgelore.core.compare.facts import Fact as Fact
    from forgelore.core.compare.scoring import DecisionScores as DecisionScores
    from forgelore.core.compare.scoring import Score as Score
    from forgelore.core.dedupe.closings import TargetPolicy as TargetPolicy
    from forgelore.core.own_pages import check_page as check_page
    from forgelore.core.people.places import KnownPlace as KnownPlace
    from forgelore.core.reading import ReadingText as ReadingText
    from forgelore.core.reading import Section as Section
    from forgelore.core.search.snippets import Snippet as Snippet
    from forgelore.core.triage.events import MAX_EVENT_BYTES as MAX_EVENT_BYTES
    from forgelore.core.triage.events import Event as Event
    from forgelore.core.triage.events import parse_event as parse_event
    from forgelore.core.triage.inputs import Inputs as Inputs
    from forgelore.core.triage.inputs import parse_inputs as parse_inputs
    from forgelore.core.triage.report_rows import ReportRow as ReportRow
    from forgelore.core.values import check_filled as check_filled
    from forgelore.flows.ask.answers import AskAnswer as AskAnswer
    from forgelore.flows.ask.answers import AskedTool as AskedTool
    from forgelore.flows.ask.answers import AskStep as AskStep
    from forgelore.flows.ask.answers import BestPassage as BestPassage
    from forgelore.flows.audit.analysis import AuditAnalysis as AuditAnalysis
    from forgelore.flows.audit.human import BlindItem as BlindItem
    from forgelore.flows.audit.human import BlindPair as BlindPair
    from forgelore.flows.audit.overview import DedupeOverview as DedupeOverview
    from forgelore.flows.audit.overview import OverviewCluster as OverviewCluster
    from forgelore.flows.audit.overview import OverviewEdge as OverviewEdge
    from forgelore.flows.audit.overview import OverviewItem as OverviewItem
    from forgelore.flows.audit.recording import AuditCase as AuditCase
    from forgelore.flows.audit.recording import AuditReport as AuditReport
    from forgelore.flows.browse.items import ShownCommit as ShownCommit
    from forgelore.flows.browse.items import ShownFile as ShownFile
    from forgelore.flows.browse.items import ShownItem as ShownItem
    from forgelore.flows.browse.items import ShownNote as ShownNote
    from forgelore.flows.browse.items import ShownReviewer as ShownReviewer
    from forgelore.flows.browse.items import ShownThread as ShownThread
    from forgelore.flows.browse.lists import COUNTABLE as COUNTABLE
    from forgelore.flows.browse.lists import ListedItem as ListedItem
    from forgelore.flows.browse.lists import ListedItems as ListedItems
    from forgelore.flows.browse.lists import RowCount as RowCount
    from forgelore.flows.browse.reading_window import ReadItem as ReadItem
    from forgelore.flows.browse.refs import parse_kind as parse_kind
    from forgelore.flows.browse.refs import split_refs as split_refs
    from forgelore.flows.closing.apply import Applied as Applied
    from forgelore.flows.closing.apply import AppliedLine as AppliedLine
    from forgelore.flows.closing.rollback import RolledBack as RolledBack
    from forgelore.flows.closing.rollback import RolledBackItem as RolledBackItem
    from forgelore.flows.code.commits import IndexedCommits as IndexedCommits
    from forgelore.flows.code.files import IndexedFiles as IndexedFiles
    from forgelore.flows.compare.calibrate import AtThreshold as AtThreshold
    from forgelore.flows.compare.calibrate import Calibrated as Calibrated
    from forgelore.flows.compare.evaluate import Evaluation as Evaluation
    from forgelore.flows.compare.evaluate import Group as Group
    from forgelore.flows.compare.evaluate import QueryResult as QueryResult
    from forgelore.flows.compare.rank import Match as Match
    from forgelore.flows.compare.similar import SimilarAnswer as SimilarAnswer
    from forgelore.flows.compare.similar import SimilarHit as SimilarHit
    from forgelore.flows.dedupe.candidates import CandidatesMade as CandidatesMade
    from forgelore.flows.dedupe.canonicalize import Canonicalized as Canonicalized
    from forgelore.flows.dedupe.canonicalize import LeftOutEdge as LeftOutEdge
    from forgelore.flows.dedupe.canonicalize import ShownCluster as ShownCluster
    from forgelore.flows.dedupe.detect_new import DetectedCandidate as DetectedCandidate
    from forgelore.flows.dedupe.detect_new import Detection as Detection
    from forgelore.flows.dedupe.intent import CardsMade as CardsMade
    from forgelore.flows.dedupe.judge import DecisionsMade as DecisionsMade
    from forgelore.flows.dedupe.maintainers import Maintainers as Maintainers
    from forgelore.flows.dedupe.overrides import OverrideAction as OverrideAction
    from forgelore.flows.dedupe.plan import ClosingPlan as ClosingPlan
    from forgelore.flows.dedupe.plan import PlanLine as PlanLine
    from forgelore.flows.index.check import Checked as Checked
    from forgelore.flows.index.check import Proof as Proof
    from forgelore.flows.index.documents import Indexed as Indexed
    from forgelore.flows.index.findings import Finding as Finding
    from forgelore.flows.index.repair import Repair as Repair
    from forgelore.flows.index.repair import Repaired as Repaired
    from forgelore.flows.index.stats import CodeStats as CodeStats
    from forgelore.flows.index.stats import DocumentStats as DocumentStats
    from forgelore.flows.index.stats import EmbedderStats as EmbedderStats
    from forgelore.flows.index.stats import FileStats as FileStats
    from forgelore.flows.index.stats import FullTextStats as FullTextStats
    from forgelore.flows.index.stats import IndexStats as IndexStats
    from forgelore.flows.index.stats import VectorStats as VectorStats
    from forgelore.flows.index.vectors import Embedded as Embedded
    from forgelore.flows.paths.extract import ExtractedDecisions as ExtractedDecisions
    from forgelore.flows.paths.path_history import PathDecision as PathDecision
    from forgelore.flows.paths.path_history import PathEntry as PathEntry
    from forgelore.flows.paths.path_history import PathHistory as PathHistory
    from forgelore.flows.people.person import LabelCount as LabelCount
    from forgelore.flows.people.person import PathPeople as PathPeople
    from forgelore.flows.people.person import PathPerson as PathPerson
    from forgelore.flows.people.person import PersonAnswer as PersonAnswer
    from forgelore.flows.people.person import PersonCounts as PersonCounts
    from forgelore.flows.people.person_items import PersonItem as PersonItem
    from forgelore.flows.people.work import MyWork as MyWork
    from forgelore.flows.progress import Watcher as Watcher
    from forgelore.flows.search.hit import Hit as Hit
    from forgelore.flows.search.run import SearchAnswer as SearchAnswer
    from forgelore.flows.search.run import SearchMode as SearchMode
    from forgelore.flows.sync.estimate import SyncEstimate as SyncEstimate
    from forgelore.flows.sync.run import SyncResult as SyncResult
    from forgelore.flows.sync.status import FailedJob as FailedJob
    from forgelore.flows.sync.status import JobCount as JobCount
    from forgelore.flows.sync.status import SyncRun as SyncRun
    from forgelore.flows.sync.status import SyncStatus as SyncStatus
    from forgelore.flows.transfer.exporting import Exported as Exported
    from forgelore.flows.transfer.importing import BadLine as BadLine
    from forgelore.flows.transfer.importing import ImportResult as ImportResult
    from forgelore.flows.triage.bot import BotResult as BotResult
    from forgelore.flows.triage.bot import TriagedItem as TriagedItem
    from forgelore.flows.triage.item import TriageOutcome as TriageOutcome
    from forgelore.flows.triage.item import TriageResult as TriageResult
    from forgelore.flows.triage.posting import CommentAction as CommentAction
    from forgelore.flows.triage.posting import Posted as Posted
    from forgelore.profiles import FORGE_NAMES as FORGE_NAMES
    from forgelore.profiles import NAMING as NAMING
    from forgelore.store.ask_sessions import AskSession as AskSession
    from forgelore.store.dedupe_runs import DedupeRun as DedupeRun
    from forgelore.store.health import WaitingError as WaitingError
    from forgelore.store.health import WaitingQueue as WaitingQueue
    from forgelore.store.hits import HitRow as HitRow
    from forgelore.store.hits import ThreadFacts as ThreadFacts
    from forgelore.store.sync_history import ListPosition as ListPosition
    from forgelore.store.sync_history import LockHolder as LockHolder
    from forgelore.words import KINDS as KINDS
    from forgelore.words import FilterWords as FilterWords
    from forgelore.words import ProjectName as ProjectName

_HOMES = {
    "AddedHost": "forgelore.api.setup",
    "Applied": "forgelore.flows.closing.apply",
    "AppliedLine": "forgelore.flows.closing.apply",
    "AskAnswer": "forgelore.flows.ask.answers",
    "AskSession": "forgelore.store.ask_sessions",
    "AskStep": "forgelore.flows.ask.answers",
    "AskedTool": "forgelore.flows.ask.answers",
    "AtThreshold": "forgelore.flows.compare.calibrate",
    "AuditAnalysis": "forgelore.flows.audit.analysis",
    "AuditCase": "forgelore.flows.audit.recording",
    "AuditReport": "forgelore.flows.audit.recording",
    "AuditScores": "forgelore.core.audit.classes",
    "BadLine": "forgelore.flows.transfer.importing",
    "BestPassage": "forgelore.flows.ask.answers",
    "BlindItem": "forgelore.flows.audit.human",
    "BlindPair": "forgelore.flows.audit.human",
    "BotPlaces": "forgelore.api.bot",
    "BotResult": "forgelore.flows.triage.bot",
    "BuiltDocuments": "forgelore.api.index",
    "COUNTABLE": "forgelore.flows.browse.lists",
    "Calibrated": "forgelore.flows.compare.calibrate",
    "CandidatesMade": "forgelore.flows.dedupe.candidates",
    "Canonicalized": "forgelore.flows.dedupe.canonicalize",
    "CardsMade": "forgelore.flows.dedupe.intent",
    "Chance": "forgelore.core.compare.calibration",
    "Checked": "forgelore.flows.index.check",
    "CheckedCitation": "forgelore.core.ask.citations",
    "Claim": "forgelore.core.ask.citations",
    "ClosingPlan": "forgelore.flows.dedupe.plan",
    "CodeStats": "forgelore.flows.index.stats",
    "CommentAction": "forgelore.flows.triage.posting",
    "Curve": "forgelore.core.compare.calibration",
    "DecisionScores": "forgelore.core.compare.scoring",
    "DecisionsMade": "forgelore.flows.dedupe.judge",
    "DedupeChain": "forgelore.api.deduping.chain",
    "DedupeOverview": "forgelore.flows.audit.overview",
    "DedupeRun": "forgelore.store.dedupe_runs",
    "DetectedCandidate": "forgelore.flows.dedupe.detect_new",
    "Detection": "forgelore.flows.dedupe.detect_new",
    "DoctorCheck": "forgelore.api.checkup",
    "DocumentStats": "forgelore.flows.index.stats",
    "EMBEDDERS": "forgelore.config",
    "Embedded": "forgelore.flows.index.vectors",
    "EmbedderStats": "forgelore.flows.index.stats",
    "Evaluation": "forgelore.flows.compare.evaluate",
    "Event": "forgelore.core.triage.events",
    "Explanation": "forgelore.core.compare.facts",
    "Exported": "forgelore.flows.transfer.exporting",
    "ExtractedDecisions": "forgelore.flows.paths.extract",
    "FORGE_NAMES": "forgelore.profiles",
    "Fact": "forgelore.core.compare.facts",
    "FailedJob": "forgelore.flows.sync.status",
    "FileStats": "forgelore.flows.index.stats",
    "FilterWords": "forgelore.words",
    "Finding": "forgelore.flows.index.findings",
    "FullTextStats": "forgelore.flows.index.stats",
    "GateBounds": "forgelore.core.audit.simulation",
    "Group": "forgelore.flows.compare.evaluate",
    "History": "forgelore.api.history",
    "Hit": "forgelore.flows.search.hit",
    "HitRow": "forgelore.store.hits",
    "ImportResult": "forgelore.flows.transfer.importing",
    "ImportedFile": "forgelore.api.fetch",
    "IndexParts": "forgelore.api.index",
    "IndexStats": "forgelore.flows.index.stats",
    "Indexed": "forgelore.flows.index.documents",
    "IndexedCode": "forgelore.api.index",
    "IndexedCommits": "forgelore.flows.code.commits",
    "IndexedFiles": "forgelore.flows.code.files",
    "Inputs": "forgelore.core.triage.inputs",
    "IntentAnswer": "forgelore.api.dedupe",
    "JobCount": "forgelore.flows.sync.status",
    "KINDS": "forgelore.words",
    "KnownPlace": "forgelore.core.people.places",
    "LabelCount": "forgelore.flows.people.person",
    "LaneAnswer": "forgelore.core.audit.classes",
    "LeftOutEdge": "forgelore.flows.dedupe.canonicalize",
    "LinePart": "forgelore.core.ask.windows",
    "ListPosition": "forgelore.store.sync_history",
    "ListedItem": "forgelore.flows.browse.lists",
    "ListedItems": "forgelore.flows.browse.lists",
    "LockHolder": "forgelore.store.sync_history",
    "MAX_EVENT_BYTES": "forgelore.core.triage.events",
    "Maintainers": "forgelore.flows.dedupe.maintainers",
    "Match": "forgelore.flows.compare.rank",
    "MeasuredShare": "forgelore.core.audit.classes",
    "MyWork": "forgelore.flows.people.work",
    "NAMING": "forgelore.profiles",
    "OverrideAction": "forgelore.flows.dedupe.overrides",
    "OverviewCluster": "forgelore.flows.audit.overview",
    "OverviewEdge": "forgelore.flows.audit.overview",
    "OverviewItem": "forgelore.flows.audit.overview",
    "PairLabel": "forgelore.core.audit.pair_labels",
    "PathDecision": "forgelore.flows.paths.path_history",
    "PathEntry": "forgelore.flows.paths.path_history",
    "PathHistory": "forgelore.flows.paths.path_history",
    "PathPeople": "forgelore.flows.people.person",
    "PathPerson": "forgelore.flows.people.person",
    "PersonAnswer": "forgelore.flows.people.person",
    "PersonCounts": "forgelore.flows.people.person",
    "PersonItem": "forgelore.flows.people.person_items",
    "PlanLine": "forgelore.flows.dedupe.plan",
    "Posted": "forgelore.flows.triage.posting",
    "ProjectName": "forgelore.words",
    "Proof": "forgelore.flows.index.check",
    "QueryResult": "forgelore.flows.compare.evaluate",
    "Quote": "forgelore.core.compare.evidence",
    "ReadItem": "forgelore.flows.browse.reading_window",
    "ReadingText": "forgelore.core.reading",
    "ReadingWindow": "forgelore.core.ask.windows",
    "Repair": "forgelore.flows.index.repair",
    "Repaired": "forgelore.flows.index.repair",
    "ReplayedProject": "forgelore.api.fetch",
    "ReportRow": "forgelore.core.triage.report_rows",
    "RolledBack": "forgelore.flows.closing.rollback",
    "RolledBackItem": "forgelore.flows.closing.rollback",
    "RowCount": "forgelore.flows.browse.lists",
    "SaidOverride": "forgelore.api.deduping.overrides",
    "Score": "forgelore.core.compare.scoring",
    "ScrollDirection": "forgelore.core.ask.windows",
    "SearchAnswer": "forgelore.flows.search.run",
    "SearchMode": "forgelore.flows.search.run",
    "Section": "forgelore.core.reading",
    "SetupAnswer": "forgelore.api.setup",
    "ShownCluster": "forgelore.flows.dedupe.canonicalize",
    "ShownCommit": "forgelore.flows.browse.items",
    "ShownFile": "forgelore.flows.browse.items",
    "ShownItem": "forgelore.flows.browse.items",
    "ShownNote": "forgelore.flows.browse.items",
    "ShownReviewer": "forgelore.flows.browse.items",
    "ShownThread": "forgelore.flows.browse.items",
    "SimilarAnswer": "forgelore.flows.compare.similar",
    "SimilarHit": "forgelore.flows.compare.similar",
    "Snippet": "forgelore.core.search.snippets",
    "SweptBound": "forgelore.core.audit.simulation",
    "SyncEstimate": "forgelore.flows.sync.estimate",
    "SyncResult": "forgelore.flows.sync.run",
    "SyncRun": "forgelore.flows.sync.status",
    "SyncStatus": "forgelore.flows.sync.status",
    "SyncedProject": "forgelore.api.fetch",
    "TargetPolicy": "forgelore.core.dedupe.closings",
    "TextPlace": "forgelore.core.ask.windows",
    "ThreadFacts": "forgelore.store.hits",
    "TokenOwner": "forgelore.api.setup",
    "TreeEntry": "forgelore.api.browse",
    "TriageAnswer": "forgelore.api.tidy",
    "TriageOutcome": "forgelore.flows.triage.item",
    "TriageResult": "forgelore.flows.triage.item",
    "TriagedItem": "forgelore.flows.triage.bot",
    "UpdatedIndex": "forgelore.api.index",
    "VectorStats": "forgelore.flows.index.stats",
    "WaitingError": "forgelore.store.health",
    "WaitingQueue": "forgelore.store.health",
    "Watcher": "forgelore.flows.progress",
    "check_filled": "forgelore.core.values",
    "check_page": "forgelore.core.own_pages",
    "make_history": "forgelore.api.history",
    "open_history": "forgelore.api.history",
    "parse_event": "forgelore.core.triage.events",
    "parse_inputs": "forgelore.core.triage.inputs",
    "parse_kind": "forgelore.flows.browse.refs",
    "split_refs": "forgelore.flows.browse.refs",
    "write_judgement": "forgelore.api.bot",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
