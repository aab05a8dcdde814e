"""Every error a user can meet, split by who must act.

    LoreError                      exit   who acts
      UsageError                      2   the user: the command line
      ConfigError                     3   the user: settings
      AuthError                       4   the user: tokens
      NotFound                        5   the user: a name
      ForgeError                      6   the forge or the network
        Incomplete                    6   ... a sync that could not read everything: the next one goes on
        LostPage                      6   ... an answer that stayed unreadable
          OddValueError               6   ... one value in it: a time, an address
        LostWrite                     6   ... a comment that was sent and never answered: it may be there
        WriteDelayed                  6   ... a write that was not taken; look again before sending it
        WriteRefused                  6   ... a write that this item does not take
        NoEffect                      6   ... a write that was taken, and changed nothing
        ConversationLocked            6   ... a conversation that somebody locked
        UnknownFieldError             6   ... an older server that lacks a field
        StateMoved                    6   ... another runner was faster
        StateRefused                  6   ... a rule of the repository forbids the push
      RateLimited                     7   time
        EndpointDown                  6   ... what keeps failing is not asked for a minute
      StoreError                      8   the machine: disk, file
        NoStore                       8   ... a server's database without a history
        NewerStore                    8   ... a file of a newer program
        CorruptStore                  8   ... a file that is damaged
        OutputError                   8   ... standard output that cannot be written: a full disk, closed
      Locked                          9   another sync
      InvalidValue                   13   the user: one value
      EmbedderError                   1   the embedding or model service, as one of these:
        EmbedderUnreachable          14   ... it does not answer
        ModelNotFound                15   ... the user: a model to install
        EmbeddingFailed              16   ... it answers with no vectors
          TooLong                    16   ... a text is longer than it takes
      ChatError                       1   the language model, as one of these:
        ChatUnreachable              14   ... its server does not answer
        ChatModelNotFound            15   ... the user: a model to install, or its name
        ChatFailed                   16   ... it answers with no answer
          ToolsRefused               16   ... it calls no tools: ask without them
          PromptTooLong              16   ... more text than its context holds
      Refused                        20   a safety rule
        Unproven                     20   ... no audit has shown that closings would be right
    Stopped                         130   the user pressed Ctrl-C, or a task was cancelled (no LoreError)

A reader that leaves early (`| head`) is not an error.

An error carries `code` (stable, for programs), `message` (what happened, with the value) and `hint` (what to do next).
Messages never hold a secret: adapters pass only hosts, paths and statuses.
"""


class LoreError(Exception):
    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def format_error(error: LoreError) -> str:
    """Return what happened and what to do, on one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


class UsageError(LoreError):
    code = "usage"
    exit_code = 2


class ConfigError(LoreError):
    code = "config"
    exit_code = 3


class AuthError(LoreError):
    """`is_rejected`: the token itself (HTTP 401), and so everything that comes after, rather than one thing."""

    code = "auth"
    exit_code = 4

    def __init__(self, message: str, *, hint: str = "", is_rejected: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_rejected = is_rejected


class NotFound(LoreError):
    code = "not_found"
    exit_code = 5


class ForgeError(LoreError):
    code = "forge"
    exit_code = 6


class Incomplete(ForgeError):
    """A sync read what it could; some lists or single items are missing, and are named."""

    code = "incomplete"


class LostPage(ForgeError):
    """The forge kept sending something that is not the answer: half a body, HTML, an unexpected shape."""

    code = "unreadable_answer"


class StateMoved(ForgeError):
    """Somebody else pushed the index since it was pulled: pull, apply and push again."""

    code = "state_moved"


class StateRefused(ForgeError):
    """The repository does not take the index: a ruleset, a protected branch, a file that is too large."""

    code = "state_refused"


class RateLimited(LoreError):
    code = "rate_limited"
    exit_code = 7

    def __init__(self, message: str, *, hint: str = "", wait_s: float = 0) -> None:
        super().__init__(message, hint=hint)
        self.wait_s = wait_s


class EndpointDown(RateLimited):
    """What failed again and again just now is not asked for a minute: no request was sent."""

    code = "forge"
    exit_code = 6


class StoreError(LoreError):
    code = "store"
    exit_code = 8


class NoStore(StoreError):
    """Nobody has written a history there yet."""

    code = "no_store"


class NewerStore(StoreError):
    code = "store_newer"


class CorruptStore(StoreError):
    code = "store_corrupt"


class OutputError(StoreError):
    """Standard output is full or closed: told on standard error, also to programs."""

    code = "output"


class Locked(LoreError):
    code = "locked"
    exit_code = 9


class InvalidValue(LoreError):
    code = "invalid_value"
    exit_code = 13


class EmbedderError(LoreError):
    """No vectors: search goes on with words alone, indexing stops and says why."""


class EmbedderUnreachable(EmbedderError):
    code = "embedder_unreachable"
    exit_code = 14


class ModelNotFound(EmbedderError):
    code = "model_not_found"
    exit_code = 15


class EmbeddingFailed(EmbedderError):
    code = "embedding_failed"
    exit_code = 16


class ChatError(LoreError):
    """No answer of a language model: what asks for one is skipped, or says so."""


class ChatUnreachable(ChatError):
    code = "chat_unreachable"
    exit_code = 14


class ChatModelNotFound(ChatError):
    code = "chat_model_not_found"
    exit_code = 15


class ChatFailed(ChatError):
    code = "chat_failed"
    exit_code = 16


class ToolsRefused(ChatFailed):
    """The server or the model knows no calls of tools."""

    code = "tools_refused"


class PromptTooLong(ChatFailed):
    code = "prompt_too_long"


class Refused(LoreError):
    code = "refused"
    exit_code = 20


class Unproven(Refused):
    """Nobody has measured that the decisions behind a plan are right often enough."""

    code = "unproven"


class Stopped(BaseException):
    """Work was cancelled and ended after its transaction. No LoreError, so that nobody who deals with a failure of one
    item, page or server swallows it.
    """

    code = "interrupted"
    exit_code = 130

    def __init__(
        self, message: str = "stopped", *, hint: str = "saved work is kept; run the same command to continue"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
