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
    from forgelore.ask.answers import AskAnswer as AskAnswer
    from forgelore.ask.answers import AskedTool as AskedTool
    from forgelore.ask.answers import AskStep as AskStep
    from forgelore.ask.answers import BestPassage as BestPassage
    from forgelore.ask.claims import CheckedCitation as CheckedCitation
    from forgelore.ask.claims import Claim as Claim
    from forgelore.browse.items import ReadItem as ReadItem
    from forgelore.browse.items import ShownCommit as ShownCommit
    from forgelore.browse.items import ShownFile as ShownFile
    from forgelore.browse.items import ShownItem as ShownItem
    from forgelore.browse.items import ShownNote as ShownNote
    from forgelore.browse.items import ShownReviewer as ShownReviewer
    from forgelore.browse.items import ShownThread as ShownThread
    from forgelore.browse.lists import COUNTABLE as COUNTABLE
    from forgelore.browse.lists import ListedItem as ListedItem
    from forgelore.browse.lists import ListedItems as ListedItems
    from forgelore.browse.lists import RowCount as RowCount
    from forgelore.browse.refs import parse_kind as parse_kind
    from forgelore.browse.refs import split_refs as split_refs
    from forgelore.compare.calibrate import AtThreshold as AtThreshold
    from forgelore.compare.calibrate import Calibrated as Calibrated
    from forgelore.compare.calibration import Chance as Chance
    from forgelore.compare.calibration import Curve as Curve
    from forgelore.compare.calibration import Explanation as Explanation
    from forgelore.compare.calibration import Fact as Fact
    from forgelore.compare.evaluate import Evaluation as Evaluation
    from forgelore.compare.evaluate import Group as Group
    from forgelore.compare.evaluate import QueryResult as QueryResult
    from forgelore.compare.evidence import Quote as Quote
    from forgelore.compare.rank import Match as Match
    from forgelore.compare.scoring import DecisionScores as DecisionScores
    from forgelore.compare.scoring import Score as Score
    from forgelore.compare.similar import SimilarAnswer as SimilarAnswer
    from forgelore.compare.similar import SimilarHit as SimilarHit
    from forgelore.config import EMBEDDERS as EMBEDDERS
    from forgelore.dedupe.apply import Applied as Applied
    from forgelore.dedupe.apply import AppliedLine as AppliedLine
    from forgelore.dedupe.audit import AuditCase as AuditCase
    from forgelore.dedupe.audit import AuditReport as AuditReport
    from forgelore.dedupe.audit_human import BlindItem as BlindItem
    from forgelore.dedupe.audit_human import BlindPair as BlindPair
    from forgelore.dedupe.audit_rules import AuditScores as AuditScores
    from forgelore.dedupe.audit_rules import GateBounds as GateBounds
    from forgelore.dedupe.audit_rules import MeasuredShare as MeasuredShare
    from forgelore.dedupe.audit_rules import PairLabel as PairLabel
    from forgelore.dedupe.audit_rules import SweptBound as SweptBound
    from forgelore.dedupe.candidates import CandidatesMade as CandidatesMade
    from forgelore.dedupe.clusters import TargetPolicy as TargetPolicy
    from forgelore.dedupe.detect_new import DetectedCandidate as DetectedCandidate
    from forgelore.dedupe.detect_new import Detection as Detection
    from forgelore.dedupe.intent import CardsMade as CardsMade
    from forgelore.dedupe.judge import DecisionsMade as DecisionsMade
    from forgelore.dedupe.maintainers import Maintainers as Maintainers
    from forgelore.dedupe.overrides import OverrideAction as OverrideAction
    from forgelore.dedupe.plan import Canonicalized as Canonicalized
    from forgelore.dedupe.plan import ClosingPlan as ClosingPlan
    from forgelore.dedupe.plan import LeftOutEdge as LeftOutEdge
    from forgelore.dedupe.plan import PlanLine as PlanLine
    from forgelore.dedupe.plan import ShownCluster as ShownCluster
    from forgelore.dedupe.report import AuditAnalysis as AuditAnalysis
    from forgelore.dedupe.report import DedupeOverview as DedupeOverview
    from forgelore.dedupe.report import OverviewCluster as OverviewCluster
    from forgelore.dedupe.report import OverviewEdge as OverviewEdge
    from forgelore.dedupe.report import OverviewItem as OverviewItem
    from forgelore.dedupe.rollback import RolledBack as RolledBack
    from forgelore.dedupe.rollback import RolledBackItem as RolledBackItem
    from forgelore.history.extract import ExtractedDecisions as ExtractedDecisions
    from forgelore.history.path_history import PathDecision as PathDecision
    from forgelore.history.path_history import PathEntry as PathEntry
    from forgelore.history.path_history import PathHistory as PathHistory
    from forgelore.history.people import KnownPlace as KnownPlace
    from forgelore.history.people import LabelCount as LabelCount
    from forgelore.history.people import MyWork as MyWork
    from forgelore.history.people import PathPeople as PathPeople
    from forgelore.history.people import PathPerson as PathPerson
    from forgelore.history.people import PersonAnswer as PersonAnswer
    from forgelore.history.people import PersonCounts as PersonCounts
    from forgelore.history.people import PersonItem as PersonItem
    from forgelore.index.code import IndexedCommits as IndexedCommits
    from forgelore.index.code import IndexedFiles as IndexedFiles
    from forgelore.index.findings import Checked as Checked
    from forgelore.index.findings import Finding as Finding
    from forgelore.index.findings import Proof as Proof
    from forgelore.index.repair import Repair as Repair
    from forgelore.index.repair import Repaired as Repaired
    from forgelore.index.stats import CodeStats as CodeStats
    from forgelore.index.stats import DocumentStats as DocumentStats
    from forgelore.index.stats import EmbedderStats as EmbedderStats
    from forgelore.index.stats import FileStats as FileStats
    from forgelore.index.stats import FullTextStats as FullTextStats
    from forgelore.index.stats import IndexStats as IndexStats
    from forgelore.index.stats import VectorStats as VectorStats
    from forgelore.index.update import Indexed as Indexed
    from forgelore.index.vectors import Embedded as Embedded
    from forgelore.ports.progress import Progress as Progress
    from forgelore.ports.progress import Watcher as Watcher
    from forgelore.profiles import FORGE_NAMES as FORGE_NAMES
    from forgelore.profiles import NAMING as NAMING
    from forgelore.records import LaneAnswer as LaneAnswer
    from forgelore.search.hits import Hit as Hit
    from forgelore.search.query import SearchMode as SearchMode
    from forgelore.search.run import SearchAnswer as SearchAnswer
    from forgelore.search.snippets import Snippet as Snippet
    from forgelore.store.ask import AskSession as AskSession
    from forgelore.store.decisions import DedupeRun as DedupeRun
    from forgelore.store.hits import HitRow as HitRow
    from forgelore.store.hits import ThreadFacts as ThreadFacts
    from forgelore.store.stats import WaitingError as WaitingError
    from forgelore.store.stats import WaitingQueue as WaitingQueue
    from forgelore.store.sync import ListPosition as ListPosition
    from forgelore.store.sync import LockHolder as LockHolder
    from forgelore.sync.archive import BadLine as BadLine
    from forgelore.sync.archive import Exported as Exported
    from forgelore.sync.archive import ImportResult as ImportResult
    from forgelore.sync.run import SyncResult as SyncResult
    from forgelore.sync.status import FailedJob as FailedJob
    from forgelore.sync.status import JobCount as JobCount
    from forgelore.sync.status import SyncEstimate as SyncEstimate
    from forgelore.sync.status import SyncRun as SyncRun
    from forgelore.sync.status import SyncStatus as SyncStatus
    from forgelore.tasks import Task as Task
    from forgelore.text.markdown import check_page as check_page
    from forgelore.text.reading import LinePart as LinePart
    from forgelore.text.reading import ReadingText as ReadingText
    from forgelore.text.reading import ReadingWindow as ReadingWindow
    from forgelore.text.reading import ScrollDirection as ScrollDirection
    from forgelore.text.reading import Section as Section
    from forgelore.text.reading import TextPlace as TextPlace
    from forgelore.text.values import check_filled as check_filled
    from forgelore.triage.bot import BotResult as BotResult
    from forgelore.triage.bot import TriagedItem as TriagedItem
    from forgelore.triage.events import MAX_EVENT_BYTES as MAX_EVENT_BYTES
    from forgelore.triage.events import Event as Event
    from forgelore.triage.events import Inputs as Inputs
    from forgelore.triage.events import parse_event as parse_event
    from forgelore.triage.events import parse_inputs as parse_inputs
    from forgelore.triage.item import TriageOutcome as TriageOutcome
    from forgelore.triage.item import TriageResult as TriageResult
    from forgelore.triage.posting import CommentAction as CommentAction
    from forgelore.triage.posting import Posted as Posted
    from forgelore.triage.report import ReportRow as ReportRow
    from forgelore.words import KINDS as KINDS
    from forgelore.words import FilterWords as FilterWords
    from forgelore.words import ProjectName as ProjectName

_HOMES = {
    "AddedHost": "forgelore.api.setup",
    "Applied": "forgelore.dedupe.apply",
    "AppliedLine": "forgelore.dedupe.apply",
    "AskAnswer": "forgelore.ask.answers",
    "AskSession": "forgelore.store.ask",
    "AskStep": "forgelore.ask.answers",
    "AskedTool": "forgelore.ask.answers",
    "AtThreshold": "forgelore.compare.calibrate",
    "AuditAnalysis": "forgelore.dedupe.report",
    "AuditCase": "forgelore.dedupe.audit",
    "AuditReport": "forgelore.dedupe.audit",
    "AuditScores": "forgelore.dedupe.audit_rules",
    "BadLine": "forgelore.sync.archive",
    "BestPassage": "forgelore.ask.answers",
    "BlindItem": "forgelore.dedupe.audit_human",
    "BlindPair": "forgelore.dedupe.audit_human",
    "BotPlaces": "forgelore.api.bot",
    "BotResult": "forgelore.triage.bot",
    "BuiltDocuments": "forgelore.api.index",
    "COUNTABLE": "forgelore.browse.lists",
    "Calibrated": "forgelore.compare.calibrate",
    "CandidatesMade": "forgelore.dedupe.candidates",
    "Canonicalized": "forgelore.dedupe.plan",
    "CardsMade": "forgelore.dedupe.intent",
    "Chance": "forgelore.compare.calibration",
    "Checked": "forgelore.index.findings",
    "CheckedCitation": "forgelore.ask.claims",
    "Claim": "forgelore.ask.claims",
    "ClosingPlan": "forgelore.dedupe.plan",
    "CodeStats": "forgelore.index.stats",
    "CommentAction": "forgelore.triage.posting",
    "Curve": "forgelore.compare.calibration",
    "DecisionScores": "forgelore.compare.scoring",
    "DecisionsMade": "forgelore.dedupe.judge",
    "DedupeChain": "forgelore.api.deduping.chain",
    "DedupeOverview": "forgelore.dedupe.report",
    "DedupeRun": "forgelore.store.decisions",
    "DetectedCandidate": "forgelore.dedupe.detect_new",
    "Detection": "forgelore.dedupe.detect_new",
    "DoctorCheck": "forgelore.api.checkup",
    "DocumentStats": "forgelore.index.stats",
    "EMBEDDERS": "forgelore.config",
    "Embedded": "forgelore.index.vectors",
    "EmbedderStats": "forgelore.index.stats",
    "Evaluation": "forgelore.compare.evaluate",
    "Event": "forgelore.triage.events",
    "Explanation": "forgelore.compare.calibration",
    "Exported": "forgelore.sync.archive",
    "ExtractedDecisions": "forgelore.history.extract",
    "FORGE_NAMES": "forgelore.profiles",
    "Fact": "forgelore.compare.calibration",
    "FailedJob": "forgelore.sync.status",
    "FileStats": "forgelore.index.stats",
    "FilterWords": "forgelore.words",
    "Finding": "forgelore.index.findings",
    "FullTextStats": "forgelore.index.stats",
    "GateBounds": "forgelore.dedupe.audit_rules",
    "Group": "forgelore.compare.evaluate",
    "History": "forgelore.api.history",
    "Hit": "forgelore.search.hits",
    "HitRow": "forgelore.store.hits",
    "ImportResult": "forgelore.sync.archive",
    "ImportedFile": "forgelore.api.fetch",
    "IndexParts": "forgelore.api.index",
    "IndexStats": "forgelore.index.stats",
    "Indexed": "forgelore.index.update",
    "IndexedCode": "forgelore.api.index",
    "IndexedCommits": "forgelore.index.code",
    "IndexedFiles": "forgelore.index.code",
    "Inputs": "forgelore.triage.events",
    "IntentAnswer": "forgelore.api.dedupe",
    "JobCount": "forgelore.sync.status",
    "KINDS": "forgelore.words",
    "KnownPlace": "forgelore.history.people",
    "LabelCount": "forgelore.history.people",
    "LaneAnswer": "forgelore.records",
    "LeftOutEdge": "forgelore.dedupe.plan",
    "LinePart": "forgelore.text.reading",
    "ListPosition": "forgelore.store.sync",
    "ListedItem": "forgelore.browse.lists",
    "ListedItems": "forgelore.browse.lists",
    "LockHolder": "forgelore.store.sync",
    "MAX_EVENT_BYTES": "forgelore.triage.events",
    "Maintainers": "forgelore.dedupe.maintainers",
    "Match": "forgelore.compare.rank",
    "MeasuredShare": "forgelore.dedupe.audit_rules",
    "MyWork": "forgelore.history.people",
    "NAMING": "forgelore.profiles",
    "OverrideAction": "forgelore.dedupe.overrides",
    "OverviewCluster": "forgelore.dedupe.report",
    "OverviewEdge": "forgelore.dedupe.report",
    "OverviewItem": "forgelore.dedupe.report",
    "PairLabel": "forgelore.dedupe.audit_rules",
    "PathDecision": "forgelore.history.path_history",
    "PathEntry": "forgelore.history.path_history",
    "PathHistory": "forgelore.history.path_history",
    "PathPeople": "forgelore.history.people",
    "PathPerson": "forgelore.history.people",
    "PersonAnswer": "forgelore.history.people",
    "PersonCounts": "forgelore.history.people",
    "PersonItem": "forgelore.history.people",
    "PlanLine": "forgelore.dedupe.plan",
    "Posted": "forgelore.triage.posting",
    "ProjectName": "forgelore.words",
    "Proof": "forgelore.index.findings",
    "QueryResult": "forgelore.compare.evaluate",
    "Quote": "forgelore.compare.evidence",
    "ReadItem": "forgelore.browse.items",
    "ReadingText": "forgelore.text.reading",
    "ReadingWindow": "forgelore.text.reading",
    "Repair": "forgelore.index.repair",
    "Repaired": "forgelore.index.repair",
    "ReplayedProject": "forgelore.api.fetch",
    "ReportRow": "forgelore.triage.report",
    "RolledBack": "forgelore.dedupe.rollback",
    "RolledBackItem": "forgelore.dedupe.rollback",
    "RowCount": "forgelore.browse.lists",
    "SaidOverride": "forgelore.api.deduping.overrides",
    "Score": "forgelore.compare.scoring",
    "ScrollDirection": "forgelore.text.reading",
    "SearchAnswer": "forgelore.search.run",
    "SearchMode": "forgelore.search.query",
    "Section": "forgelore.text.reading",
    "SetupAnswer": "forgelore.api.setup",
    "ShownCluster": "forgelore.dedupe.plan",
    "ShownCommit": "forgelore.browse.items",
    "ShownFile": "forgelore.browse.items",
    "ShownItem": "forgelore.browse.items",
    "ShownNote": "forgelore.browse.items",
    "ShownReviewer": "forgelore.browse.items",
    "ShownThread": "forgelore.browse.items",
    "SimilarAnswer": "forgelore.compare.similar",
    "SimilarHit": "forgelore.compare.similar",
    "Snippet": "forgelore.search.snippets",
    "SweptBound": "forgelore.dedupe.audit_rules",
    "SyncEstimate": "forgelore.sync.status",
    "SyncResult": "forgelore.sync.run",
    "SyncRun": "forgelore.sync.status",
    "SyncStatus": "forgelore.sync.status",
    "SyncedProject": "forgelore.api.fetch",
    "TargetPolicy": "forgelore.dedupe.clusters",
    "TextPlace": "forgelore.text.reading",
    "ThreadFacts": "forgelore.store.hits",
    "TokenOwner": "forgelore.api.setup",
    "TreeEntry": "forgelore.api.browse",
    "TriageAnswer": "forgelore.api.tidy",
    "TriageOutcome": "forgelore.triage.item",
    "TriageResult": "forgelore.triage.item",
    "TriagedItem": "forgelore.triage.bot",
    "UpdatedIndex": "forgelore.api.index",
    "VectorStats": "forgelore.index.stats",
    "WaitingError": "forgelore.store.stats",
    "WaitingQueue": "forgelore.store.stats",
    "Progress": "forgelore.ports.progress",
    "Task": "forgelore.tasks",
    "Watcher": "forgelore.ports.progress",
    "check_filled": "forgelore.text.values",
    "check_page": "forgelore.text.markdown",
    "make_history": "forgelore.api.history",
    "open_history": "forgelore.api.history",
    "parse_event": "forgelore.triage.events",
    "parse_inputs": "forgelore.triage.events",
    "parse_kind": "forgelore.browse.refs",
    "split_refs": "forgelore.browse.refs",
    "write_judgement": "forgelore.api.bot",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
