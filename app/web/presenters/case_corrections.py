"""The editor of a recording: its fields, and the API's corrections for a sent form."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import Invalid
from app.replay.case_types import CaseStep, TestCase
from app.values.storable import decode_json
from app.web.filters import pretty
from app.web.forms import Form

DEMANDS_MAX = 20
_SHOWN_MAX = 200
_USER = re.compile(r"user\.(\d{1,4})")
_FIX = re.compile(r"fix\.(\d{1,4})\.(\d{1,4})\.(remove|arguments|result|text)")
# The place before the first step is written without a number.
_ADD = re.compile(r"add\.(\d{1,4})\.(\d{1,4}|first)\.(name|arguments|result|text)")


def corrections_sent(form: Form, case: TestCase) -> list[dict[str, Any]]:
    """Return the corrections in a sent form, in the order of the steps. Raises `Invalid` for text that is no JSON."""
    fixes, added = _by_place(form, _FIX), _by_place(form, _ADD)
    corrections = [*_messages(form, case), *_changes(fixes, case), *_additions(added)]
    return sorted(
        corrections, key=lambda correction: (correction["turn"], correction.get("step", correction.get("after", -1)))
    )


def demands(case: TestCase) -> list[str]:
    """Return what the first checked steps of a test case demand of a draft, in words."""
    steps = ((n, step) for n, turn in enumerate(case.played_turns, 1) for step in turn.steps if step.checked)
    listed = [f"Turn {n}: {_demand(step)}" for n, step in steps]
    more = len(listed) - DEMANDS_MAX
    return [*listed[:DEMANDS_MAX], *([f"{more} more steps"] if more > 0 else [])]


def _by_place(form: Form, pattern: re.Pattern[str]) -> dict[tuple[int, int], dict[str, str]]:
    """Return the texts of the editor's fields by turn and step; -1 is the place before the first step."""
    places: defaultdict[tuple[int, int], dict[str, str]] = defaultdict(dict)
    for name in form.fields:
        if field := pattern.fullmatch(name):
            step = -1 if field[2] == "first" else int(field[2])
            places[int(field[1]), step][field[3]] = form.text(name).replace("\r\n", "\n")
    return places


def _messages(form: Form, case: TestCase) -> Iterator[dict[str, Any]]:
    """Yield the messages of the user that differ from those of the case."""
    for name in form.fields:
        if (field := _USER.fullmatch(name)) is None:
            continue
        turn, text = int(field[1]), form.text(name).replace("\r\n", "\n")
        if turn >= len(case.turns):
            raise Invalid(f"Turn {turn + 1}: There is no such turn.")
        if text not in (_shown(case.turns[turn].user or ""), case.turns[turn].user or ""):
            yield {"turn": turn, "user": text}


def _changes(fixes: Mapping[tuple[int, int], Mapping[str, str]], case: TestCase) -> Iterator[dict[str, Any]]:
    for (turn, index), texts in fixes.items():
        step = case.turns[turn].steps[index] if turn < len(case.turns) and index < len(case.turns[turn].steps) else None
        if step is None:
            raise Invalid(f"Turn {turn + 1}, step {index + 1}: There is no such step.")
        place = {"turn": turn, "step": index}
        if "remove" in texts:
            yield place | {"remove": True}
        elif changed := _changed(step, texts, f"Turn {turn + 1}, step {index + 1}"):
            yield place | changed


def _changed(step: CaseStep, texts: Mapping[str, str], where: str) -> dict[str, Any]:
    if step.kind == "answer":
        text = texts.get("text", step.text)
        return {} if text == _shown(step.text) or text == step.text else {"text": text}
    result = step.result if step.error is None else step.error
    shown = {"arguments": _shown(step.arguments), "result": _shown(result)}
    return {
        name: _value(texts[name], f"{where}: The {name}", strict=name == "arguments")
        for name, before in shown.items()
        if texts.get(name, before) != before
    }


def _additions(added: Mapping[tuple[int, int], Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    for (turn, after), texts in added.items():
        place, where = {"turn": turn, "after": after}, f"Turn {turn + 1}, after step {after + 1}"
        if name := texts.get("name", "").strip():
            arguments = _value(texts.get("arguments") or "{}", f"{where}: The arguments", strict=True)
            result = _value(texts.get("result", ""), where, strict=False)
            yield place | {"add": {"name": name, "arguments": arguments, "result": result}}
        elif texts.get("arguments", "").strip() or texts.get("result", "").strip():
            raise Invalid(f"{where}: Name the tool of the added call.")
        if texts.get("text", "").strip():
            yield place | {"add": {"text": texts["text"]}}


def _value(text: str, what: str, *, strict: bool) -> Any:
    """Return the JSON in a text. A text that is no JSON is the value itself, unless `strict`."""
    try:
        return decode_json(text)
    except ValueError:
        if strict:
            raise Invalid(f"{what} must be JSON.") from None
        return text


def _shown(value: Any) -> str:
    """Return the value as a text area has it."""
    return pretty(value).replace("\r\n", "\n").replace("\r", "\n")


def _demand(step: CaseStep) -> str:
    if step.kind == "answer":
        return f"answers “{_cut(step.text)}”"
    return f"calls {step.name} {_cut(json.dumps(step.arguments, ensure_ascii=False))}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
