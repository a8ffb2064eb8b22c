"""What the requests to all vendors have in common: checks, files, and the instruction to answer in JSON."""

from __future__ import annotations

import codecs
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reprise_formats.byte_order import MARK, encoding_of_mark

from app.chat import File, Message, ToolCall, ToolDefinition, VendorState
from app.errors import Invalid
from app.providers.types import ModelConfig, ModelRequest
from app.providers.vendors import CUSTOM, EFFORTS, VENDORS, Vendor, VendorProfile

_TEXTUAL = frozenset(
    "application/" + name
    for name in [
        "csv",
        "ecmascript",
        "graphql",
        "javascript",
        "json",
        "json5",
        "jsonl",
        "jsonlines",
        "ndjson",
        "sql",
        "toml",
        "typescript",
        "x-csv",
        "x-httpd-php",
        "x-javascript",
        "x-jsonlines",
        "x-latex",
        "x-ndjson",
        "x-python",
        "x-sh",
        "x-shellscript",
        "x-tex",
        "x-toml",
        "x-yaml",
        "xml",
        "yaml",
    ]
)
_OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
    "application/acrobat": "application/pdf",
    "text/pdf": "application/pdf",
    "audio/mpeg": "audio/mp3",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-aac": "audio/aac",
    "audio/x-aiff": "audio/aiff",
    "audio/x-flac": "audio/flac",
    "audio/x-mp3": "audio/mp3",
    "audio/x-wav": "audio/wav",
}
# Codecs of Python that are no charsets. Some need time that grows with the square of the text.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"})
_JSON_ONLY = "Answer with one JSON object and nothing else."
PDF = "application/pdf"
NO_TEXT = "(no text)"
"""In the place of a user's message without a text, where a vendor's conversation must begin or end with one."""


def check(request: ModelRequest) -> None:
    """Raise `Invalid` for a parameter that no model of the vendor accepts."""
    vendor, config = request.model.vendor, request.config
    if config.reasoning_effort not in (None, *EFFORTS):
        raise Invalid(f"languageModelConfig.reasoning_effort: {config.reasoning_effort!r} is unknown.")
    if config.seed is not None and not VENDORS[vendor].accepts_seed:
        raise Invalid(f"languageModelConfig.seed: {vendor} models accept no seed.")


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that have a value."""
    return {name: value for name, value in parameters.items() if value is not None}


def temperature_of(vendor: Vendor, config: ModelConfig) -> float | None:
    """Return the temperature to send, None for none.

    1 is the default of every vendor's models, and models that reason refuse a request that contains it.
    """
    return None if config.temperature == 1 and vendor != CUSTOM else config.temperature


def with_json_instruction(vendor: Vendor, config: ModelConfig, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Add the instruction to answer in JSON where the vendor needs it.

    Anthropic has no JSON mode, DeepSeek's accepts no schema, and OpenAI's refuses a conversation that does not mention
    JSON.
    """
    if not _needs_json_instruction(VENDORS[vendor], config, messages):
        return messages
    instruction = _JSON_ONLY
    if config.response_format == "json_schema":
        instruction += f" It must be valid against this JSON Schema: {json.dumps(config.json_schema)}"
    if messages and messages[0].role == "system":
        return (replace(messages[0], text=f"{messages[0].text}\n\n{instruction}"), *messages[1:])
    return (Message("system", instruction), *messages)


def _needs_json_instruction(vendor: VendorProfile, config: ModelConfig, messages: tuple[Message, ...]) -> bool:
    if config.response_format != "json_object":
        return config.response_format == "json_schema" and "json_schema" not in vendor.formats
    if vendor.json_instruction == "unmentioned":
        return not any("json" in message.text.lower() for message in messages)
    return vendor.json_instruction == "always"


def instruction_of(messages: tuple[Message, ...]) -> str:
    """Return the texts of the system messages, and leave out blank ones."""
    return "\n".join(message.text for message in messages if message.role == "system" and message.text.strip())


def between_users(
    sent: list[dict[str, Any]], messages: tuple[Message, ...], key: str, model_role: str
) -> list[dict[str, Any]]:
    """Return the conversation so that it begins, and ends where it did, with the user.

    Messages without a visible character are left out before. `key` is the key of a message's parts, and `model_role`
    the role of the model.
    """
    filler = {"role": "user", key: [{"type": "text", "text": NO_TEXT} if key == "content" else {"text": NO_TEXT}]}
    begins = bool(sent) and sent[0]["role"] != model_role
    ends = begins and (sent[-1]["role"] != model_role or messages[-1].role == "assistant")
    return [*([] if begins else [filler]), *sent, *([] if ends or not sent else [filler])]


def named_schema(config: ModelConfig) -> dict[str, Any]:
    """Return the JSON Schema of the answer in OpenAI's form: with a name, and with `strict` if the config has it."""
    return given({"name": "answer", "schema": config.json_schema or {"type": "object"}, "strict": config.strict})


def parameters_of(tool: ToolDefinition) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters, that of an empty object for a tool without any."""
    return tool.parameters or {"type": "object", "properties": {}}


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object: vendors accept nothing else, even what their model wrote itself."""
    return call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}


def own_state(vendor: Vendor, state: VendorState | None) -> dict[str, Any]:
    """Return the vendor's state of a message or tool call, which is sent back to this vendor only."""
    key = VENDORS[vendor].state_key
    of_vendor = (state or {}).get(key) if key else None
    return of_vendor if isinstance(of_vendor, dict) else {}


def media_type_of(vendor: Vendor, file: File) -> str:
    """Return the media type in which a file is sent: an image's, an audio's, `PDF`, or text/plain for all that is text.

    Raises `Invalid` for a type that the vendor's models can't read.
    """
    media_type, profile = usual_media_type(file), VENDORS[vendor]
    if media_type in profile.images | profile.audio or (media_type == PDF and profile.reads_pdf):
        return media_type
    if media_type.startswith("text/") or media_type in _TEXTUAL or media_type.endswith(("+json", "+xml")):
        return "text/plain"
    raise Invalid(f"{vendor} models can't read {file.media_type} ({file.name}).")


def usual_media_type(file: File) -> str:
    """Return the media type by its usual name, in lower case and without parameters."""
    media_type = file.media_type.partition(";")[0].strip().lower()
    return _OTHER_NAMES.get(media_type, media_type)


def decoded(file: File) -> str:
    """Return the text of a file, by its byte order mark, else by the charset that its media type names, else as UTF-8.

    Raises `Invalid` for other bytes, and for a NUL, which is a sign of UTF-16 without a mark.
    """
    _, _, parameters = file.media_type.lower().partition("charset=")
    charset = parameters.partition(";")[0].strip(" \"'") or "utf-8"
    try:
        codec = codecs.lookup(charset).name
        if codec.replace("-", "_") in _NO_CHARSETS:
            raise LookupError(charset)
        text = file.content.decode(encoding_of_mark(file.content) or codec).removeprefix(MARK)
    except (ValueError, LookupError) as error:
        name = "UTF-8" if charset in ("utf-8", "utf8") else charset
        raise Invalid(f"{file.name} is sent as text, but it is not {name}.") from error
    if "\0" in text:
        raise Invalid(f"{file.name} is sent as text, but it has a NUL character. Save it as UTF-8.")
    return text


def base64_of(content: bytes) -> str:
    return b64encode(content).decode("ascii")
