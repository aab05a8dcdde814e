"""Settings of language models: `[llm]`, and `[llm.cheap]` and `[llm.strong]`, which inherit from it.

From the user's own file and the environment only: text of private projects and a key go to the address that they name.

    defaults < [llm] < FORGELORE_LLM_… < [llm.cheap] < FORGELORE_LLM_CHEAP_…

A preset stands for an address, and for the variable of its key. A key belongs to the address beside which it is named:
where a later part names another server and no key, the inherited key stays at home.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from forgelore.config import Setting
from forgelore.errors import ConfigError

LLM_PROFILES = ("default", "cheap", "strong")
JSON_MODES = ("schema", "object", "none")
REASONING = ("", "none", "minimal", "low", "medium", "high")


LLM_SETTINGS = (
    Setting("preset", "", 0, 0, False, "a server that is known, see below; its address and key need not be named then"),
    Setting("base_url", "", 0, 0, False, "the address before `/chat/completions`, https:// or on this machine"),
    Setting("model", "", 0, 0, False, "the model's name, as its server calls it"),
    Setting(
        "api_key_env", "", 0, 0, False,
        "the variable that holds the key for `base_url`, sent there and nowhere else; empty: the preset's, or none",
    ),
    Setting(
        "reasoning", "", 0, 0, False, f"how much a model thinks first: {', '.join(REASONING[1:])}; empty: as it likes"
    ),
    Setting("timeout", 120.0, 1, 3600, False, "seconds that one answer may take"),
    Setting(
        "json_mode", "schema", 0, 0, False,
        "how JSON is asked for: `schema` (a JSON Schema), `object` or `none` (in words); if a server refuses one,"
        " the next is tried",
    ),
    Setting("max_tokens", 4096, 16, 200_000, False, "tokens of one answer, where a command names no limit of its own"),
    Setting("context", 0, 0, 10_000_000, False, "tokens that a prompt and its answer may have together; 0: not known"),
    Setting("price_in", 0.0, 0, 100_000, False, "price of a million tokens that are sent, for the account of a run"),
    Setting("price_out", 0.0, 0, 100_000, False, "price of a million tokens that come back"),
)  # fmt: skip


class LlmPreset(NamedTuple):
    """A server that many people use. `model` is sent where none is named."""

    base_url: str
    api_key_env: str = ""
    model: str = ""


LLM_PRESETS = {
    "ollama": LlmPreset("http://127.0.0.1:11434/v1"),
    "llamacpp": LlmPreset("http://127.0.0.1:8080/v1", model="default"),  # it serves the one that it was started with
    "lmstudio": LlmPreset("http://127.0.0.1:1234/v1"),
    "vllm": LlmPreset("http://127.0.0.1:8000/v1"),
    "openai": LlmPreset("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": LlmPreset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "mistral": LlmPreset("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "gemini": LlmPreset("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
}


class LlmProfile(NamedTuple):
    """What one profile comes to."""

    name: str
    base_url: str
    model: str
    api_key_env: str = ""
    reasoning: str = ""
    timeout: float = 120.0
    json_mode: str = "schema"
    max_tokens: int = 4096
    context: int = 0
    price_in: float = 0.0
    price_out: float = 0.0


Layer = dict[str, Any]


def read_llm_table(value: object, where: str) -> dict[str, Layer]:
    """Return the lines of `[llm]` by profile, checked. Raises ConfigError."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: llm must be a table", hint='write [llm] and below it model = "…"')
    layers: dict[str, Layer] = {name: {} for name in LLM_PROFILES}
    for key, entry in value.items():
        if key in LLM_PROFILES[1:]:
            if not isinstance(entry, dict):
                raise ConfigError(f"{where}: llm.{key} must be a table", hint=f"write [llm.{key}]")
            layers[key] = {name: _checked(name, one, f"{where}: llm.{key}") for name, one in entry.items()}
        else:
            layers["default"][key] = _checked(key, entry, f"{where}: llm")
    return layers


def make_llm_profiles(layers: Mapping[str, Layer], environ: Mapping[str, str]) -> tuple[LlmProfile, ...]:
    """Return the profiles, `default` first; none where nobody names a server or a model."""
    own = {name: layers.get(name, {}) for name in LLM_PROFILES}
    said = {name: _from_environ(name, environ) for name in LLM_PROFILES}
    if not any(own.values()) and not any(said.values()):
        return ()
    base = [own["default"], said["default"]]
    return tuple(_join(name, base if name == "default" else [*base, own[name], said[name]]) for name in LLM_PROFILES)


def variable_of(profile: str, name: str) -> str:
    """Return the variable that sets a line: ("cheap", "model") -> FORGELORE_LLM_CHEAP_MODEL"""
    return "_".join(part.upper() for part in ("forgelore_llm", "" if profile == "default" else profile, name) if part)


def _from_environ(profile: str, environ: Mapping[str, str]) -> Layer:
    found: Layer = {}
    for setting in LLM_SETTINGS:
        variable = variable_of(profile, setting.name)
        if text := environ.get(variable, "").strip():
            found[setting.name] = _checked(setting.name, _number_in(setting, text), variable)
    return found


def _number_in(setting: Setting, text: str) -> str | float:
    try:
        return text if isinstance(setting.default, str) else float(text)
    except ValueError:
        return text


def _join(name: str, layers: list[Layer]) -> LlmProfile:
    """Return a profile of layers, the later ones stronger."""
    values: Layer = {setting.name: setting.default for setting in LLM_SETTINGS}
    for layer in layers:
        preset = LLM_PRESETS.get(layer.get("preset", ""))
        place = layer.get("base_url") or (preset.base_url if preset else "")
        if place and _origin(place) != _origin(values["base_url"]):
            values["api_key_env"] = _usual_key(place)
        values |= {"base_url": place or values["base_url"]}
        if preset and preset.model and not layer.get("model"):
            values["model"] = preset.model
        values |= {key: value for key, value in layer.items() if key not in ("preset", "base_url")}
    del values["preset"]
    return LlmProfile(name, **values)


def _usual_key(url: str) -> str:
    return next((one.api_key_env for one in LLM_PRESETS.values() if _origin(one.base_url) == _origin(url)), "")


def _origin(url: str) -> str:
    return "/".join(url.lower().split("/")[:3])


def _checked(name: str, value: Any, where: str) -> str | int | float:
    setting = next((one for one in LLM_SETTINGS if one.name == name), None)
    if setting is None:
        known = ", ".join(one.name for one in LLM_SETTINGS)
        raise ConfigError(f"unknown setting in {where}: {name!r}", hint=f"use one of {known}")
    if isinstance(setting.default, str):
        choices = {"preset": ("", *LLM_PRESETS), "reasoning": REASONING, "json_mode": JSON_MODES}.get(name)
        if not isinstance(value, str) or (choices and value not in choices):
            what = f"one of {', '.join(filter(None, choices))}" if choices else "text"
            raise ConfigError(f"{where}: {name} must be {what}, not {value!r}", hint="see docs/settings.md")
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not setting.low <= value <= setting.high:
        limits = f"{setting.low:g} and {setting.high:g}"
        raise ConfigError(f"{where}: {name} must be between {limits}, not {value!r}", hint="see docs/settings.md")
    return int(value) if isinstance(setting.default, int) else float(value)
