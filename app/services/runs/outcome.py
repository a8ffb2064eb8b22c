"""Outcomes of runs: the columns of an answer or a failure, and the errors that are raised again for the caller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.chat import TOKEN_COUNTS, Answer, Tokens
from app.errors import BY_CODE, Cancelled, ServiceError, Unavailable
from app.json_schema.check import CHECK_STEPS_MAX, breach_of, schema_breach
from app.json_schema.references import Unresolvable
from app.models.language_models import LanguageModel
from app.models.runs import RunRow, RunStatus, StoredCost, StoredOutcome, StoredRequest, StoredToolCall
from app.models.usage import Spent
from app.prices.types import Cost
from app.providers import catalogue
from app.providers.bounds import ELEMENTS_MAX
from app.providers.catalogue import ModelEntry
from app.providers.types import ModelConfig
from app.values.budget import OverBudget, WorkBudget
from app.values.json import count_marks
from app.values.storable import storable_text
from app.values.structs import convert

MESSAGE_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The columns that change when a run ends; None leaves a column unchanged."""

    status: RunStatus
    question: str | None = None
    request: StoredRequest | None = None
    instruction: str | None = None
    language_model_id: int | None = None
    answer: str | None = None
    outcome: StoredOutcome | None = None
    nok: str | None = None
    error: str | None = None
    error_kind: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    response_time_ms: int | None = None

    def columns(self) -> dict[str, Any]:
        values = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return {name: value for name, value in values if value is not None}

    def spent(self) -> Spent:
        """Return the tokens and cost of the run; zero without an answer."""
        tokens = self.outcome.tokens if self.outcome else Tokens()
        counts = {f"{name}_tokens": getattr(tokens, name) for name in TOKEN_COUNTS}
        return Spent(failed=int(self.status == "failed"), cost_usd=self.cost_usd or 0.0, **counts)


def answered(
    answer: Answer,
    config: ModelConfig,
    model: LanguageModel,
    first_error: str | None = None,
    *,
    estimated: bool = False,
) -> RunEnd:
    """Return the end of a run with an answer, even if the answer is not usable as requested.

    `model` is the model that answered. `first_error` is the error of the prompt's first model, if the second one
    answered. `estimated`: the vendor did not report all of the tokens.
    """
    tokens, cost, nok = answer.tokens, cost_of(model, answer.tokens), nok_status(answer, config)
    outcome = StoredOutcome(
        tokens,
        StoredCost(float(cost.prompt), float(cost.completion), float(cost.total)),
        chain_of_thoughts=answer.reasoning or None,
        tool_calls=[StoredToolCall(call.id, call.name, call.arguments) for call in answer.tool_calls],
        first_error=first_error or None,
        estimated=estimated,
    )
    return RunEnd(
        status="done",
        answer=answer.text,
        nok=nok and storable_text(nok),  # it may name a key of the answer's JSON
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        cost_usd=outcome.cost.total,
        language_model_id=model.id,
        outcome=outcome,
    )


def cancelled(end: RunEnd) -> RunEnd:
    """Return the end of a run that was cancelled while its model wrote; `end` has what is written of the answer."""
    return replace(end, status="cancelled", nok=None, error_kind=Cancelled.code, error=CANCELLED)


def cost_of(model: LanguageModel, tokens: Tokens) -> Cost:
    """Return the cost in USD by the prices in the model's row: the catalogue's, or the organization's."""
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
    return catalogue.cost(convert(facts, ModelEntry), tokens)


def nok_status(answer: Answer, config: ModelConfig) -> str | None:
    """Return `NOK: <reason>`, or None if the answer is usable."""
    reason = _reason(answer, config)
    return f"NOK: {reason}" if reason else None


def _reason(answer: Answer, config: ModelConfig) -> str | None:
    if answer.finish_reason == "refused":
        return f"the model refused to answer: {answer.refusal}" if answer.refusal else "the model refused to answer"
    if answer.finish_reason == "length":
        limit = "" if config.max_tokens is None else f" ({config.max_tokens})"
        return f"the answer was cut off at max_tokens{limit}"
    if answer.tool_calls or config.response_format in (None, "text"):
        return None
    # The pieces of a stream are counted one by one.
    if count_marks(answer.text) > ELEMENTS_MAX:
        return f"the answer has more than {ELEMENTS_MAX} lists, objects and members"
    try:
        value = orjson.loads(answer.text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError as error:
        return f"the answer is not JSON: {error}"
    return _breach(value, config.json_schema) if config.response_format == "json_schema" else None


def _breach(value: Any, schema: dict[str, Any] | None) -> str | None:
    """Return how the value violates the schema, None if it doesn't; one budget covers the schema and the value."""
    budget = WorkBudget(CHECK_STEPS_MAX)
    try:
        if wrong := schema_breach(schema or {}, budget):
            return f"json_schema is not a valid JSON Schema: {wrong.message()[:MESSAGE_MAX]}"
        breach = breach_of(schema or {}, value, budget)
        return (
            f"the answer breaks json_schema at {breach.json_path}: {breach.message()[:MESSAGE_MAX]}" if breach else None
        )
    except OverBudget:
        return "json_schema needs too many steps to check"
    except (Unresolvable, RecursionError) as problem:
        return f"json_schema can't be resolved: {problem}"


CODES = frozenset({"provider", "provider_timeout", "invalid", "not_found", "unavailable"})
"""The codes of the errors that end a run."""
NOT_RUN = frozenset({"interrupted", "not_started"})
"""The kinds of failed runs that no error has ended."""
# The model was certainly not called, so the Idempotency-Key may be used again.
NOT_CALLED = frozenset({"unavailable", "not_started"})
INTERNAL = "internal"

INTERRUPTED = (
    "The run was interrupted: its worker died, and the model may have been called. "
    "To run it again, send it with another Idempotency-Key."
)
EXPIRED = "The run was not started within an hour: no worker had time for it."
NOT_STORED = "The model answered, but its answer can't be stored."
CANCELLED = "The run was cancelled."
NOT_SENT = "The run was not started, as Redis is not available; send it again."


def failed(kind: str, message: str) -> RunEnd:
    return RunEnd(status="failed", error_kind=kind, error=storable_text(message))


def failed_by(error: ServiceError) -> RunEnd:
    """Return the end of a run that an error ended. An error with a code that runs do not have counts as `INTERNAL`."""
    return failed(error.code if error.code in CODES else INTERNAL, str(error))


def raise_failure(row: RunRow) -> None:
    """Raise the error of a failed or cancelled run; does nothing for any other run."""
    if row.status not in ("failed", "cancelled"):
        return
    known = Unavailable if row.error_kind in NOT_RUN else BY_CODE.get(row.error_kind or "")
    if known is None:
        raise RuntimeError(f"run {row.id} failed by a bug: {row.error}")
    raise known(row.error or "The run failed.")
