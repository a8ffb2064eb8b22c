"""Matchers: the ways in which the values at a path of a call's arguments are compared, and their JSON."""

import math
from typing import Any, Literal, get_args

import msgspec

from app.values.json_pointer import parse_pointer
from app.values.structs import convert

MatcherName = Literal["exact", "facts", "any", "text", "number", "regex", "one_of", "unordered", "ai"]
NAMES: tuple[str, ...] = get_args(MatcherName)

_OPTIONS = {"number": "tolerance", "regex": "value", "ai": "value", "one_of": "values"}  # the option of each


class Matcher(msgspec.Struct, frozen=True, omit_defaults=True):
    """The way in which the values at one path of a call's arguments are compared.

    | match | equal are |
    |---|---|
    | `exact` | the same JSON value |
    | `facts` | texts of which the new one neither loses nor invents a value (app/replay/texts/facts.py) |
    | `any` | any two values |
    | `text` | texts, case, white space and punctuation aside; signs such as $, % and < count |
    | `number` | numbers at most `tolerance` apart (0) |
    | `regex` | anything, and the new text matches `value` |
    | `one_of` | anything, and the new value is one of `values` |
    | `unordered` | lists of the same values in any order |
    | `ai` | what a judge accepts, by the assertion `value` |
    """

    match: MatcherName
    tolerance: float = 0
    value: str = ""
    values: tuple[Any, ...] = ()

    def to_json(self) -> str | dict[str, Any]:
        """Return only the name if there are no options, else `{"match": NAME, …}`."""
        built = msgspec.structs.asdict(self) | {"values": list(self.values)}
        option = _OPTIONS.get(self.match, "")
        return {"match": self.match, option: built[option]} if built.get(option) else self.match


def parse_matcher(raw: Any) -> Matcher:
    """Return the matcher of a name or of `{"match": NAME, …}`; raises ValueError saying what is wrong."""
    options = {"match": raw} if isinstance(raw, str) else raw
    if not isinstance(options, dict) or not isinstance(options.get("match"), str):
        raise ValueError('must be the name of a matcher or {"match": NAME}')
    name = options["match"]
    if name not in NAMES:
        raise ValueError(f"must be one of {', '.join(NAMES)}")
    option = _OPTIONS.get(name, "")
    unknown = next((key for key in options if key not in ("match", option)), None)
    if unknown is not None:
        raise ValueError(f"{unknown}: is no option of {name}")
    _check_option(name, options.get(option))
    return convert(options, Matcher)


def parse_matchers(raw: Any) -> dict[str, Matcher]:
    """Return the matchers of `{POINTER: MATCHER}`; raises ValueError which begins with the pointer."""
    if not isinstance(raw, dict):
        raise ValueError("must be an object of JSON pointers and matchers")
    matchers = {}
    for pointer, matcher in raw.items():
        try:
            parse_pointer(pointer)
            matchers[pointer] = parse_matcher(matcher)
        except ValueError as error:
            raise ValueError(f"{pointer}: {error}") from None
    return matchers


def normalized(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of matchers in its shortest form; raises ValueError, `arguments.POINTER: …`."""
    try:
        return {pointer: matcher.to_json() for pointer, matcher in parse_matchers(raw).items()}
    except ValueError as error:
        raise ValueError(f"arguments.{error}") from None


def _check_option(name: str, option: Any) -> None:
    if name == "number" and option is not None:
        if not isinstance(option, int | float) or isinstance(option, bool) or not 0 <= option < math.inf:
            raise ValueError("tolerance: must be a number that is not negative")
    elif name in ("regex", "ai"):
        if not isinstance(option, str) or not option.strip():
            raise ValueError(f"value: is required, {'the regular expression' if name == 'regex' else 'the assertion'}")
    elif name == "one_of" and (not isinstance(option, list | tuple) or not option):
        raise ValueError("values: is required, a list of at least one value")
