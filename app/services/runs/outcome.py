"""An answer as the columns of its run."""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat import Answer, Tokens
from app.models.language_models import LanguageModel
from app.models.usage import Spent
from app.providers import catalogue
from app.providers.catalogue import Cost, ModelEntry
from app.providers.types import ModelConfig
from app.services.runs.nok import nok_status
from app.storable import storable_text


def answered(
    answer: Answer, config: ModelConfig, model: LanguageModel, first_error: str | None = None
) -> dict[str, Any]:
    """Column values of a run that has an answer, be it one that can't be used as asked.

    `model` is the one that answered; `first_error` says why that was not the prompt's first.
    """
    cost = cost_of(model, answer.tokens)
    nok = nok_status(answer, config)
    return {
        "status": "done",
        "answer": answer.text,
        "nok": nok and storable_text(nok),  # it may name a key of the answer's JSON
        "prompt_tokens": answer.tokens.prompt,
        "completion_tokens": answer.tokens.completion,
        "cost_usd": float(cost.total),
        "language_model_id": model.id,
        "outcome": _outcome(answer, cost) | ({"firstError": first_error} if first_error else {}),
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


def spent_by(values: dict[str, Any]) -> Spent:
    """What a run with these column values used: nothing, where it has no answer."""
    tokens = (values.get("outcome") or {}).get("tokens", {})
    return Spent(
        failed=int(values["status"] == "failed"),
        prompt_tokens=tokens.get("prompt", 0),
        completion_tokens=tokens.get("completion", 0),
        cache_read_tokens=tokens.get("cacheRead", 0),
        cache_write_tokens=tokens.get("cacheWrite", 0),
        reasoning_tokens=tokens.get("reasoning", 0),
        cost_usd=values.get("cost_usd", 0.0),
    )


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
