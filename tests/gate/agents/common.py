"""The recorded agents' common parts: their script, and tools that answer by it. Runs next to `reprise.py`."""

import json
import os

import reprise

SCRIPT = json.loads(os.environ["SCRIPT"])
MODEL = "gpt-4o-mini"
PROMPT = {"placeholders": {"resolved": {}}, "commitHash": None}
_waiting = [call for turn in SCRIPT["turns"] for calls in turn["rounds"] for call in calls]


class ToolFailed(Exception):
    pass


def tools():
    """Each tool once: its name, and the properties of all its calls as its schema."""
    schemas = {}
    for call in _waiting:
        properties = {
            key: {"type": "integer" if isinstance(value, int) else "string"} for key, value in call["arguments"].items()
        }
        schemas.setdefault(
            call["name"],
            {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False},
        )
    return schemas


SCHEMAS = tools()


def run_tool(name, arguments):
    """The result of the next scripted call of that name with these arguments. Raises ToolFailed."""
    call = next(one for one in _waiting if (one["name"], one["arguments"]) == (name, arguments))
    _waiting.remove(call)
    if call["error"]:
        raise ToolFailed(call["error"])
    return call["result"]


def turns():
    """The user's messages, each within the span of its turn."""
    for turn in SCRIPT["turns"]:
        with reprise.turn(PROMPT, SCRIPT["name"]):
            yield turn["user"]
