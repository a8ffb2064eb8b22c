"""The tokens of sound and of images are read by each name under which libraries send them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.normalise import Normalised, SpanView
from app.otlp.normalise.convention import COUNT_MAX
from app.otlp.normalise.modalities import ModalityTokens

USAGE = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 789, "gen_ai.usage.output_tokens": 32}
AUDIO = ModalityTokens("audio", 476, 23, 0)
REALTIME = {
    "input_tokens": 789,
    "output_tokens": 32,
    "input_token_details": {
        "text_tokens": 313,
        "audio_tokens": 476,
        "cached_tokens": 640,
        "cached_tokens_details": {"text_tokens": 256, "audio_tokens": 384},
    },
    "output_token_details": {"text_tokens": 9, "audio_tokens": 23},
}
GEMINI = {
    "promptTokenCount": 789,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 313}, {"modality": "AUDIO", "tokenCount": 476}],
    "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}],
    "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 100}],
}


def modalities(attributes: dict[str, Any]) -> tuple[ModalityTokens, ...] | None:
    return Normalised(SpanView("chat", "", USAGE | attributes)).modalities


@pytest.mark.parametrize(
    "names",
    [
        ("gen_ai.usage.audio.input_tokens", "gen_ai.usage.audio.output_tokens"),
        ("gen_ai.usage.input_tokens.audio", "gen_ai.usage.output_tokens.audio"),
        ("gen_ai.usage.input_audio_tokens", "gen_ai.usage.output_audio_tokens"),
        ("gen_ai.usage.audio_input_tokens", "gen_ai.usage.audio_output_tokens"),
        ("gen_ai.usage.details.input_audio_tokens", "gen_ai.usage.details.output_audio_tokens"),
        (
            "gen_ai.usage.prompt_tokens_details.audio_tokens",
            "gen_ai.usage.completion_tokens_details.audio_tokens",
        ),
        ("llm.token_count.prompt_details.audio", "llm.token_count.completion_details.audio"),
    ],
)
def test_attributes_count_the_tokens_of_sound(names: tuple[str, str]) -> None:
    assert modalities(dict(zip(names, (476, "23"), strict=True))) == (AUDIO,)
    assert modalities(dict.fromkeys(names, 0)) == ()


def test_the_names_of_the_conventions_count_each_modality_and_its_cached_tokens() -> None:
    recorded = {
        "gen_ai.usage.text.input_tokens": 660,
        "gen_ai.usage.audio.input_tokens": 40,
        "gen_ai.usage.audio.cache_read.input_tokens": 20,
        "gen_ai.usage.image.input_tokens": 90,
        "gen_ai.usage.image.output_tokens": 12,
    }

    assert modalities(recorded) == (ModalityTokens("audio", 40, 0, 20), ModalityTokens("image", 90, 12, 0))


@pytest.mark.parametrize(
    ("key", "usage", "counted"),
    [
        ("gen_ai.usage.raw", REALTIME, (ModalityTokens("audio", 476, 23, 384),)),
        ("braintrust.metrics", {"usage": REALTIME}, (ModalityTokens("audio", 476, 23, 384),)),
        (
            "langsmith.metadata.usage_metadata",
            {"input_token_details": {"audio": 476}, "output_token_details": {"audio": 23}},
            (AUDIO,),
        ),
        ("langfuse.observation.usage_details", {"input_audio_tokens": 476, "output_audio_tokens": 23}, (AUDIO,)),
        (
            "gcp.vertex.agent.llm_response",
            {"usage_metadata": GEMINI},
            (ModalityTokens("audio", 476, 0, 100), ModalityTokens("image", 0, 1290, 0)),
        ),
        ("gen_ai.usage.raw", {"input_token_details": {"text_tokens": 5, "audio_tokens": 0}}, ()),
    ],
)
def test_the_usage_of_a_vendor_counts_the_tokens_of_each_modality(
    key: str, usage: dict[str, Any], counted: tuple[ModalityTokens, ...]
) -> None:
    assert modalities({key: json.dumps(usage)}) == counted


@pytest.mark.parametrize(
    "usage",
    [
        "audio",
        '{"audio":',
        '["audio"]',
        '{"usage": "audio"}',
        '{"input_token_details": {"audio": "many"}}',
        '{"input_token_details": {"audio": -5}}',
        f'{{"input_token_details": {{"audio": {COUNT_MAX + 1}}}}}',
        '{"promptTokensDetails": [null, "audio", {"modality": 5}, {"modality": "AUDIO"}]}',
        '{"promptTokensDetails": "audio", "cached_tokens_details": ["audio"]}',
    ],
)
def test_what_is_no_count_is_none(usage: str) -> None:
    assert modalities({"gen_ai.usage.raw": usage}) is None
