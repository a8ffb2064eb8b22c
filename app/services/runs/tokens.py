"""The tokens of an answer that was stopped, of which a vendor reports some, or none."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from app.chat import Answer, Tokens
from app.models.language_models import LanguageModel
from app.providers.types import ModelRequest

BYTES_PER_TOKEN = 4


def with_all_tokens(answer: Answer, model: LanguageModel, request: ModelRequest) -> tuple[Answer, bool]:
    """Return the answer with tokens for all that was sent and written, and whether some of them are estimated.

    A vendor charges for these, but most vendors report the tokens at the end of an answer. The files of a request are
    not counted.
    """
    reported, config = answer.tokens, request.config
    messages = [(message.text, message.tool_calls) for message in request.messages]
    sent = _tokens_of(msgspec.json.encode((messages, config.tools, config.json_schema)), model.context_tokens_max)
    written = _tokens_of((answer.text + (answer.reasoning or "")).encode(), model.completion_tokens_max)
    tokens = Tokens(
        reported.prompt or sent,
        max(reported.completion, written),
        reported.cache_read,
        reported.cache_write,
        reported.reasoning,
    )
    return replace(answer, tokens=tokens), tokens != reported


def _tokens_of(text: bytes, most: int) -> int:
    return min(-(-len(text) // BYTES_PER_TOKEN), most)
