"""Recognizes results of tools that report a failure, where the trace did not mark the call as failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.replay.tables import words
from app.values.unicode import folded

_ERRORS = words("failures", "errors")
_DETAILS = _ERRORS | words("failures", "details")
_KEYS_MOST = 16  # of a result that reports a failure
_BEGIN = 200  # characters of a text that are read
_STATUS = {"status", "statuscode", "httpstatus", "httpstatuscode"}
_WORDS = "|".join(sorted(_ERRORS))
# A count of errors, as in `Errors: 0`, is no failure.
_TEXT = re.compile(rf"traceback \(most recent call last\)|(?:[\w.]{{0,80}}(?:error|exception)|{_WORDS})\s?:(?!\s?0\b)")


def reports_failure(result: Any) -> bool:
    """Return whether a result reports that the call failed, and has nothing else.

    An object does so by a flag such as `isError` or `"ok": false`, or by an error or an HTTP status of a failure if it
    has only details of it in addition, such as a code. A text does so by its beginning, such as `TypeError: `.
    """
    if isinstance(result, str):
        return bool(_TEXT.match(folded(result[:_BEGIN].lstrip())))
    return isinstance(result, dict) and len(result) <= _KEYS_MOST and _object_reports(result)


def _object_reports(result: Mapping[Any, Any]) -> bool:
    values = {folded(str(key)).replace("_", "").replace("-", ""): value for key, value in result.items()}
    if values.get("iserror") is True or values.get("ok") is False or values.get("success") is False:
        return True
    has_error = (
        values.get("status") == "error"
        or any(type(values.get(key)) is int and 400 <= values[key] <= 599 for key in _STATUS)
        or any(isinstance(values.get(key), str | dict | list) and values[key] for key in _ERRORS)
    )
    return has_error and all(key in _DETAILS or value in (None, "", [], {}) for key, value in values.items())
