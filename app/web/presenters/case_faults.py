"""The rows of faults in the forms of a test case and of a replay. Rows with the same name are one variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import Invalid
from app.replay.case_types import TestCase
from app.web.forms import Form

_COLUMNS = ("tool", "call", "kind", "message")


@dataclass(frozen=True, slots=True)
class FaultFields:
    """The texts of a row; `call` counts from 1."""

    variant: str = ""
    tool: str = ""
    call: str = "1"
    kind: str = "timeout"
    message: str = ""


def faults_of(case: TestCase) -> tuple[FaultFields, ...]:
    """Return the rows of a test case's variants."""
    return tuple(
        FaultFields(variant.name, fault.tool, str(fault.call + 1), fault.kind, fault.message or "")
        for variant in case.variants or ()
        for fault in variant.faults
    )


def faults_sent(form: Form, shown: tuple[FaultFields, ...]) -> tuple[FaultFields, ...]:
    """Return the rows of a sent form with the name of a variant; the shown ones if the form has no rows."""
    if "fault.variant" not in form.fields:
        return shown
    columns = (form.texts(f"fault.{name}") for name in ("variant", *_COLUMNS))
    rows = (FaultFields(variant.strip(), *_stripped(row)) for variant, *row in zip(*columns, strict=False))
    return tuple(row for row in rows if row.variant)


def single_faults_sent(form: Form) -> tuple[FaultFields, ...]:
    """Return the rows of a sent form of one replay that name a tool."""
    columns = (form.texts(f"fault.{name}") for name in _COLUMNS)
    rows = (FaultFields("", *_stripped(row)) for row in zip(*columns, strict=False))
    return tuple(row for row in rows if row.tool)


def variants_body(rows: Sequence[FaultFields]) -> list[dict[str, Any]]:
    """Return the API's variants. Raises `Invalid` for a call that is no number."""
    variants: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        variants.setdefault(row.variant, []).append(_body(row, row.variant))
    return [{"name": name, "faults": faults} for name, faults in variants.items()]


def faults_body(rows: Sequence[FaultFields]) -> list[dict[str, Any]]:
    """Return the API's faults of one replay. Raises `Invalid` for no faults, and for a call that is no number."""
    if not rows:
        raise Invalid("Name the tool of at least one call that fails.")
    return [_body(row, row.tool) for row in rows]


def _stripped(row: Sequence[str]) -> tuple[str, str, str, str]:
    tool, call, kind, message = row
    return tool.strip(), call.strip(), kind, message


def _body(row: FaultFields, name: str) -> dict[str, Any]:
    if not (row.call.isascii() and row.call.isdigit() and 0 < len(row.call) < 6 and int(row.call)):
        raise Invalid(f"{name}: the number of the call must be at least 1.")
    message = {"message": row.message} if row.message else {}
    return {"tool": row.tool, "call": int(row.call) - 1, "kind": row.kind, **message}
