"""The vendors with models that are called over HTTP: all differences except their models and prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Vendor = Literal["OPENAI", "ANTHROPIC", "GOOGLE", "DEEPSEEK", "CUSTOM_OPENAI_COMPATIBLE", "BUILTIN"]
ResponseFormat = Literal["text", "json_object", "json_schema"]
WireFormat = Literal["openai", "anthropic", "google"]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
"""The values of `reasoning_effort` in a configuration; a model may accept fewer."""

CUSTOM: Vendor = "CUSTOM_OPENAI_COMPATIBLE"
_PNG_JPEG_WEBP = frozenset({"image/png", "image/jpeg", "image/webp"})
_WAV_MP3 = frozenset({"audio/wav", "audio/mp3"})
_KEY_HEADERS: dict[WireFormat, str] = {"anthropic": "x-api-key", "google": "x-goog-api-key"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorProfile:
    """A vendor's names, address and format. Without a `base_url` each endpoint has a separate one.

    `images` and `audio` are the media types that its API reads. `seeds` are the lowest and the highest seed. A request
    has at most `stops_max` stop sequences, of which some may be blank with `blank_stops`. `tool_name` and `call_id` are
    regular expressions for the names that it accepts; a `tool_name` of "" accepts any. With `strict_for_all_tools` all
    tools of a request are strict, or none is.

    `formats` are the answer formats that its API has a parameter for. With `json_instruction` a prompt must ask for
    JSON nevertheless: if it does not mention it, or always. `state_key` is the key of the data that its messages and
    tool calls must be sent back with. With `knows_max_tokens` a request without a limit of tokens has the maximum of
    the model; a limit in the request would count for the vendor's rate limits.
    """

    title: str
    base_url: str | None
    wire: WireFormat = "openai"
    images: frozenset[str] = _PNG_JPEG_WEBP
    audio: frozenset[str] = frozenset()
    reads_pdf: bool = True
    seeds: tuple[int, int] = (-(2**63), 2**63 - 1)
    accepts_seed: bool = True
    stops_max: int = 16
    blank_stops: bool = True
    tool_name: str = ""
    call_id: str = ".+"
    strict_for_all_tools: bool = False
    formats: frozenset[ResponseFormat] = frozenset({"json_object", "json_schema"})
    json_instruction: Literal["never", "unmentioned", "always"] = "unmentioned"
    state_key: str | None = None
    knows_max_tokens: bool = False

    def headers(self, api_key: str) -> dict[str, str]:
        """Return the header that authenticates a request."""
        header = _KEY_HEADERS.get(self.wire)
        return {header: api_key} if header else {"authorization": f"Bearer {api_key}"}


VENDORS: dict[str, VendorProfile] = {
    "OPENAI": VendorProfile(
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        images=_PNG_JPEG_WEBP | {"image/gif"},
        state_key="openai",
        knows_max_tokens=True,
        stops_max=4,
        tool_name="[a-zA-Z0-9_-]{1,64}",
        call_id=".{1,40}",
    ),
    "ANTHROPIC": VendorProfile(
        title="Anthropic",
        base_url="https://api.anthropic.com",
        wire="anthropic",
        images=_PNG_JPEG_WEBP | {"image/gif"},
        accepts_seed=False,
        formats=frozenset({"json_schema"}),
        json_instruction="always",
        state_key="anthropic",
        blank_stops=False,
        tool_name="[a-zA-Z0-9_-]{1,128}",
        call_id="[a-zA-Z0-9_-]{1,64}",
    ),
    "GOOGLE": VendorProfile(
        title="Google",
        base_url="https://generativelanguage.googleapis.com",
        wire="google",
        images=_PNG_JPEG_WEBP | {"image/heic", "image/heif"},
        audio=_WAV_MP3 | {"audio/aac", "audio/aiff", "audio/flac", "audio/ogg"},
        json_instruction="never",
        state_key="google",
        seeds=(-(2**31), 2**31 - 1),
        stops_max=5,
        tool_name="[a-zA-Z0-9_.:-]{1,128}",
        strict_for_all_tools=True,
    ),
    "DEEPSEEK": VendorProfile(
        title="DeepSeek",
        base_url="https://api.deepseek.com",
        reads_pdf=False,
        accepts_seed=False,
        formats=frozenset({"json_object"}),
        json_instruction="always",
        state_key="deepseek",
        tool_name="[a-zA-Z0-9_-]{1,64}",
    ),
    CUSTOM: VendorProfile(
        title="OpenAI-compatible endpoints",
        base_url=None,
        images=_PNG_JPEG_WEBP | {"image/gif"},
        audio=_WAV_MP3,
    ),
}
