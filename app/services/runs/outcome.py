"""An answer as the columns of its run."""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat import Answer, Tokens
from app.models.language_models import LanguageModel
from app.providers import catalogue
from app.providers.catalogue import Cost, ModelEntry
from app.providers.types import ModelConfig
from app.services.runs.failures import storable
from app.services.runs.nok import nok_status


def answered(answer: Answer, config: ModelConfig, model: LanguageModel) -> dict[str, Any]:
    """Column values of a run that has an answer, be it one that can't be used as asked."""
    cost = cost_of(model, answer.tokens)
    return {
        "status": "done",
        "answer": storable(answer.text),
        "nok": storable(nok_status(answer, config)),
        "prompt_tokens": answer.tokens.prompt,
        "completion_tokens": answer.tokens.completion,
        "cost_usd": float(cost.total),
        "outcome": storable(_outcome(answer, cost)),
    }


def _outcome(answer: Answer, cost: Cost) -> dict[str, Any]:
    """What the API shows beside the text, under the API's names."""
    outcome: dict[str, Any] = {
        "tokens": tokens_json(answer.tokens),
        "cost": {"prompt": float(cost.prompt), "completion": float(cost.completion), "total": float(cost.total)},
    }
    if answer.reasoning:
        outcome["chainOfThoughts"] = answer.reasoning
    if answer.tool_calls:
        outcome["toolCalls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.tool_calls
        ]
    return outcome


def tokens_json(tokens: Tokens) -> dict[str, int]:
    """Counts; `cacheRead`, `cacheWrite` and `reasoning` are parts of the others, and there when they aren't 0."""
    parts = {"cacheRead": tokens.cache_read, "cacheWrite": tokens.cache_write, "reasoning": tokens.reasoning}
    counted = {"prompt": tokens.prompt, "completion": tokens.completion, "total": tokens.total}
    return counted | {name: count for name, count in parts.items() if count}


def cost_of(model: LanguageModel, tokens: Tokens) -> Cost:
    """USD by the prices in the model's row: those of the catalogue, or an organization's own."""
    prices = model.details.get("prices") or {"input": str(model.prompt_price), "output": str(model.completion_price)}
    facts = {
        "vendor": model.vendor,
        "name": model.name,
        "description": model.description,
        "contextTokensMax": model.context_tokens_max,
        "completionTokensMax": model.completion_tokens_max,
        "prices": prices,
        "longPrompt": model.details.get("longPrompt"),
    }
    return catalogue.cost(msgspec.convert(facts, ModelEntry), tokens)
