"""Labels of prompts, and the choice of a version by label or commit hash."""

from __future__ import annotations

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.experiments.statistics import MOST_REPEATS, default_repeats
from app.models import labels
from app.schemas.answer import AnswerSchema, answer_of, boolean, listing, one, text, time
from app.schemas.base import BoundedList, Identifier, JsonNumber, StrictBoolean, StrictSchema, Text
from app.services.prompts.labels import LabelMove
from app.services.prompts.splits import ByLabel
from app.services.replays.frozen import TEST_CASES_PER_START

DEFAULT = labels.EvidenceRule()
# Clients resolve the last two names within an address, and so would request another resource.
RESERVED = ("draft", "latest", "productive", ".", "..")
REASON_MAX = 500


class LabelName(fields.String):
    """The name of a label."""

    documented: ClassVar = {"not": {"enum": [*RESERVED]}}

    def __init__(self, **options: Any) -> None:
        pattern = rf"[A-Za-z0-9._-]{{1,{labels.LABEL_NAME_MAX}}}\Z"
        error = f"Must be 1 to {labels.LABEL_NAME_MAX} letters, digits, dots, underscores or hyphens."
        super().__init__(validate=[validate.Regexp(pattern, error=error), _not_reserved], **options)


def _not_reserved(name: str) -> None:
    if name in RESERVED:
        raise ValidationError(f"{name!r} is reserved.")


class LabelPath(StrictSchema):
    """A label's name in an address."""

    label = LabelName(required=True)


class ChosenVersion(StrictSchema):
    """A version, chosen by label or commit hash. With either of them `productive` is ignored.

    If the label is split between versions, `placeholders.memory_key` decides which version is used. Without it, its
    alias `memoryKey` decides, else `splitKey`.
    """

    commit_hash = Text(load_default=None, allow_none=True)
    label = LabelName(load_default=None, allow_none=True)
    split_key = Text(load_default=None, allow_none=True)
    memory_key = Text(load_default=None, allow_none=True)

    @validates_schema
    def _one_of_both(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if data.get("label") is not None and data.get("commit_hash") is not None:
            raise ValidationError("Send a label or a commitHash, not both.", "label")

    @post_load
    def make_command(self, data: dict[str, Any], **kwargs: Any) -> Any:
        label, split_key, memory_key = (data.pop(name) for name in ("label", "split_key", "memory_key"))
        if "selections" in data and memory_key is not None:
            data["selections"] = {"memory_key": memory_key} | data["selections"]
        memory_key = data.get("selections", {}).get("memory_key", memory_key)
        data["by_label"] = None if label is None else ByLabel(label, memory_key or split_key)
        return super().make_command(data, **kwargs)


WATCH_DAYS_MAX = 365


class EvidenceSchema(StrictSchema):
    """What an experiment must have at least to move a guarded label. `repeats` follow from `detect` by default.

    With `testCaseIds` it must cover these test cases, otherwise all present ones of the prompt. With `watchDays`, a run
    of a watch must have ended in so many days without a drop.
    """

    command: ClassVar = labels.EvidenceRule

    repeats = fields.Integer(strict=True, validate=validate.Range(1, MOST_REPEATS))
    detect = JsonNumber(
        validate=validate.Range(0, 1, min_inclusive=False, max_inclusive=False), load_default=DEFAULT.detect
    )
    alpha = JsonNumber(
        validate=validate.Range(0, 1, min_inclusive=False, max_inclusive=False), load_default=DEFAULT.alpha
    )
    min_sighted = JsonNumber(validate=validate.Range(0, 1), load_default=DEFAULT.min_sighted)
    test_case_ids = BoundedList(
        Identifier(), minimum=1, maximum=TEST_CASES_PER_START, into=tuple, load_default=None, allow_none=True
    )
    watch_days = fields.Integer(
        strict=True, validate=validate.Range(1, WATCH_DAYS_MAX), load_default=None, allow_none=True
    )

    @post_load
    def make_command(self, data: dict[str, Any], **kwargs: Any) -> Any:
        return super().make_command({"repeats": default_repeats(data["detect"])[0], **data}, **kwargs)


class LabelMoveSchema(StrictSchema):
    """With `evidence` null the guard requires the default evidence."""

    command: ClassVar = LabelMove

    commit_hash = Text(required=True)
    share = JsonNumber(
        load_default=None,
        allow_none=True,
        validate=validate.Range(0, 1, min_inclusive=False, max_inclusive=False),
    )
    experiment_id = Identifier(load_default=None, allow_none=True)
    guarded = StrictBoolean(load_default=None, allow_none=True)
    override = Text(load_default=None, allow_none=True, minimum=1, maximum=REASON_MAX, trim=True)
    evidence = fields.Nested(EvidenceSchema, allow_none=True)


class LabelSchema(AnswerSchema):
    label = text(attribute="name")
    commit_hash = text()
    guarded = boolean()
    evidence = one(answer_of(labels.EvidenceRule, "LabelEvidence"), required=False, attribute="required")
    split = one(answer_of(labels.Split, "LabelSplit"), allow_none=True)
    updated_at = time()


Labels = listing("labels", LabelSchema)
