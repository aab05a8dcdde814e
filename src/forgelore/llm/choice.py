"""Which language model a profile of the settings means, made but not yet asked."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from forgelore.errors import ConfigError, InvalidValue
from forgelore.llm_settings import LLM_PROFILES, LlmProfile

if TYPE_CHECKING:
    from forgelore.chat_port import ChatModel
    from forgelore.net.model_server import Manners


def make_chat_model(
    name: str, profiles: tuple[LlmProfile, ...], environ: Mapping[str, str], make_manners: "Callable[[], Manners]"
) -> "ChatModel":
    """Return the model of a profile. Raises InvalidValue for a name that no profile has, ConfigError where the settings
    name no server or no model for it.
    """
    if name not in LLM_PROFILES:
        raise InvalidValue(f"no profile is called {name!r}", hint=f"one of: {', '.join(LLM_PROFILES)}")
    found = next((one for one in profiles if one.name == name), None)
    if found is None or not found.base_url or not found.model:
        missing = "server" if found is None or not found.base_url else "model"
        hint = 'in your own config.toml, write [llm] and below it preset = "ollama" and model = "NAME"'
        raise ConfigError(f"no {missing} is named for the language model ({name})", hint=hint)
    from forgelore.llm.chat import ServedChatModel

    key = environ.get(found.api_key_env, "").strip() if found.api_key_env else ""
    return ServedChatModel(found, key=key, manners=make_manners())
