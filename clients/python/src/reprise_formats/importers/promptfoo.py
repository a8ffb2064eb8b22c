"""promptfoo: the tests of a configuration in YAML, or of a file that has only tests, in YAML or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise_formats.importers.datasets import QUESTIONS, ImportedCase
from reprise_formats.importers.records import ImportedRecord
from reprise_formats.importers.spans import Unreadable, json_text, text_of
from reprise_formats.importers.text_limits import WIDEST, TextLimits

# The checks of assertions, and the statements by which a judge decides several of them together.
_CHECKS = {"equals": "strict", "contains": "contains", "icontains": "contains", "regex": "regex"}
_STATEMENTS = {
    "equals": "The answer is exactly: {}",
    "contains": "The answer contains: {}",
    "icontains": "The answer contains, in upper or lower case: {}",
    "not-contains": "The answer does not contain: {}",
    "not-icontains": "The answer does not contain, in upper or lower case: {}",
    "starts-with": "The answer starts with: {}",
    "contains-all": "The answer contains all of: {}",
    "contains-any": "The answer contains at least one of: {}",
    "icontains-all": "The answer contains, in upper or lower case, all of: {}",
    "icontains-any": "The answer contains, in upper or lower case, at least one of: {}",
    "regex": "The answer matches the regular expression: {}",
    "is-json": "The answer is valid JSON.",
    "contains-json": "The answer contains valid JSON.",
    "similar": "The answer means the same as: {}",
    "factuality": "The answer agrees with these facts: {}",
    "answer-relevance": "The answer is relevant to the question.",
}
PARTS_MAX = 500
"""Variables and assertions of a test together, with those of the configuration that all tests share."""
_RUBRICS = ("llm-rubric", "model-graded-closedqa", "g-eval")


def records(text: str, place: str, limits: TextLimits = WIDEST) -> Iterator[ImportedRecord]:
    """Yield the tests of a file, merged with the defaults of its configuration."""
    import yaml

    from reprise_formats.importers import bounded_yaml

    try:
        content = bounded_yaml.load(text, limits)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        yield ImportedRecord(place, {}, f"is no YAML: {' '.join(str(error).split())}")
        return
    config = content if isinstance(content, dict) else {"tests": content}
    tests = config.get("tests")
    if not isinstance(tests, list):
        reason = f"its tests are in {tests!r}: import that file" if isinstance(tests, str) else "has no tests"
        yield ImportedRecord(place, {}, reason)
        return
    shared = _object(config.get("defaultTest"))
    for number, test in enumerate(tests, 1):
        where = f"{place}: test {number}"
        if not isinstance(test, dict):
            yield ImportedRecord(where, {}, f"is in {test!r}: import that file")
        elif _parts(shared) + _parts(test) > PARTS_MAX:
            yield ImportedRecord(where, {}, f"has more than {PARTS_MAX} variables and assertions")
        else:
            yield ImportedRecord(where, _merged(shared, test))


def _parts(test: Mapping[str, Any]) -> int:
    return len(_object(test.get("vars"))) + len(_list(test.get("assert")))


def _merged(defaults: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **defaults,
        **test,
        "vars": {**_object(defaults.get("vars")), **_object(test.get("vars"))},
        "assert": [*_list(defaults.get("assert")), *_list(test.get("assert"))],
    }


def convert(test: Mapping[str, Any]) -> ImportedCase:
    """Return the test case of a test.

    The question is the variable with a usual name for it, or the only one; the others are values of placeholders.
    Several assertions become one that a judge decides.
    """
    variables = {str(key): text_of(value) or "" for key, value in _object(test.get("vars")).items()}
    name = next((name for name in QUESTIONS if variables.get(name)), None)
    if name is None and len(variables) == 1:
        (name,) = variables
    if name is None or not variables[name].strip():
        raise Unreadable(f"vars has no question: name one of its variables {QUESTIONS[0]!r}")
    if variables[name].startswith("file://"):
        raise Unreadable(f"vars.{name} is in another file: {variables[name]}")
    asserted = [assertion for assertion in test["assert"] if isinstance(assertion, dict)]
    expected, check, assertion, left_out = _checked(asserted)
    return ImportedCase(
        json_text([test.get("description"), variables]),
        variables.pop(name),
        expected,
        check,
        name=str(test.get("description") or ""),
        assertion=assertion,
        variables=variables,
        left_out=[*left_out, *map(str, _list(test.get("left_out")))],
    )


def _checked(assertions: list[dict[str, Any]]) -> tuple[str, dict[str, Any], str, list[str]]:
    """Return the expected text, the check, the judge's assertion, and the types of assertions that are left out."""
    known = []
    left_out = []
    for check in assertions:
        if check.get("type") in (*_STATEMENTS, *_RUBRICS):
            known.append(check)
        else:
            left_out.append(f"assertion {check.get('type')}")
    if not known:
        raise Unreadable("has no assertion that a test case can check")
    kind, value = str(known[0].get("type")), text_of(known[0].get("value")) or ""
    if len(known) == 1 and kind in _CHECKS and value.strip():
        return value, {"answer": _CHECKS[kind]} | ({} if kind == "equals" else {"value": value}), "", left_out
    if len(known) == 1 and kind in ("similar", "factuality") and value.strip():
        return value, {"answer": "meaning"}, "", left_out
    statements = [_statement(str(check.get("type")), text_of(check.get("value")) or "") for check in known]
    return "", {"answer": "ai"}, "\n".join(statements), left_out


def _statement(kind: str, value: str) -> str:
    return value if kind in _RUBRICS else _STATEMENTS[kind].format(value)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
