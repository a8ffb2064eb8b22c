"""The masking rules of projects, remembered for some seconds: every batch and every run asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from app.db import Database
from app.errors import Unavailable
from app.models import data_policies
from app.otlp.mask_texts import Budget
from app.otlp.masking import Masking, Rule
from app.otlp.rejections import Rejection, too_large
from app.otlp.span import Span
from app.otlp.validate import BadSpan, ResourceAttributes, span_of
from app.services.data.seal import NO_KEY, Seal

# A change of the rules holds everywhere after this.
REMEMBERED_S = 5.0
# What a row takes: numbers may be longer as they are written again.
SPAN_BYTES_MAX = 2**24 - 1
_NO_RESOURCE = ResourceAttributes(msgspec.Raw(b"null"))


Batch = tuple[list[Span], list[Rejection]]


class MaskingRules:
    """`seal` is for what must wait unmasked: a project that has rules has nothing in work in the clear."""

    def __init__(self, database: Database, seal: Seal, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.seal = seal
        self._monotonic = monotonic
        self._known: dict[int, tuple[float, Masking]] = {}

    def of(self, project_id: int) -> Masking:
        """False where there are none. `Unavailable` when they, or the key to seal with, can't be had: nothing is
        stored that they might have masked.
        """
        known = self._known.get(project_id)
        if known is None or self._monotonic() - known[0] > REMEMBERED_S:
            with self._database.read() as connection:
                policy = data_policies.find_policy(connection, project_id=project_id)
            known = (self._monotonic(), Masking([Rule(**rule) for rule in policy.masking]))
            self._known[project_id] = known
        if known[1] and not self.seal:
            raise Unavailable(NO_KEY)
        return known[1]

    def forget(self, project_id: int) -> None:
        """Read them anew when they are asked for next."""
        self._known.pop(project_id, None)

    def apply(self, project_id: int, spans: Sequence[Span], rejected: Sequence[Rejection]) -> Batch:
        """A batch as it may be stored; the very same without rules."""
        masking = self.of(project_id)
        if not masking:
            return list(spans), list(rejected)
        kept, without, budget = [], [_without(one, masking) for one in rejected], Budget()
        for span in spans:
            try:
                kept.append(_masked(span, masking, budget))
            except RecursionError:
                without.append(_too_deep(span, masking))
            except BadSpan as error:
                without.append(_without(error.rejection, masking))
        return kept, without


def _masked(span: Span, masking: Masking, budget: Budget) -> Span:
    """Raises RecursionError, and BadSpan for a span that can't be stored as the rules leave it."""
    raw = bytes(span.raw)
    masked = masking.span(raw, budget)
    if masked is raw:
        return span
    if len(masked) > SPAN_BYTES_MAX:
        raise BadSpan(too_large(span, SPAN_BYTES_MAX))
    return span_of(msgspec.Raw(masked), span.scope, _NO_RESOURCE)


def _too_deep(span: Span, masking: Masking) -> Rejection:
    ids = (span.trace_id.hex(), span.span_id.hex(), masking.text(span.name))
    return Rejection(*ids, "malformed_span", "its attributes nest too deeply to be masked", span.prompt_id)


def _without(rejection: Rejection, masking: Masking) -> Rejection:
    return replace(rejection, name=masking.text(rejection.name), reason=masking.text(rejection.reason))
