"""The base of request schemas: strict fields, and errors that name the field by its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any, ClassVar

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, validate

from app.errors import Invalid
from app.schemas.answer import CamelCaseMeta

BIGINT_MAX = 2**63 - 1
# Nanoseconds since 1970 in 63 bits can represent these whole years.
FIRST_YEAR, LAST_YEAR = 1970, 2261
# Entries on one page of a listing.
PAGE_MAX = 200
# A body can have a million errors. The answer names only the first few.
MESSAGES_MAX = 10
MESSAGE_LENGTH = 500
# Each unknown field costs a message. Objects with more fields than any schema has are refused unread.
OBJECT_FIELDS_MAX = 100


class StrictSchema(Schema, metaclass=CamelCaseMeta):
    """The base of a request's body or query. Unknown fields are errors.

    Loading calls `command` with the fields as keyword arguments, or returns a dict of them. A key in JSON is the name
    in camel case, or `data_key`.
    """

    class Meta:
        unknown = RAISE

    camel_case: ClassVar = True
    command: ClassVar[Callable[..., Any] | None] = None

    error_messages = {"unknown": "Unknown field.", "type": "Must be a JSON object."}  # noqa: RUF012 - marshmallow's way

    def load(self, data: Any, **kwargs: Any) -> Any:
        if isinstance(data, Mapping) and len(data) > OBJECT_FIELDS_MAX:
            raise ValidationError(f"Must have at most {OBJECT_FIELDS_MAX} fields.")
        try:
            return super().load(data, **kwargs)
        except ValidationError as error:
            # A frame of marshmallow and the error refer to each other: what was sent would be in memory until garbage
            # is collected.
            error.with_traceback(None)
            raise

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> Any:
        return data if self.command is None else self.command(**data)


class Text(fields.String):
    """Any Unicode text without NUL; `minimum` and `maximum` count characters.

    Here and below `documented` adds to the JSON Schema of a field what its class and validators do not describe.
    """

    documented: ClassVar = {"pattern": "^[^\\u0000]*$"}

    def __init__(self, *, minimum: int = 0, maximum: int | None = None, trim: bool = False, **kwargs: Any) -> None:
        super().__init__(validate=validate.Length(min=minimum or None, max=maximum), **kwargs)
        self._trim = trim

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        if "\0" in text:
            raise ValidationError("Must not contain a NUL character.")
        return text.strip() if self._trim else text


class StrictBoolean(fields.Boolean):
    """JSON's true or false only. The string "false" is an error, not true."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("Must be true or false.")
        return value


class QueryBoolean(fields.Boolean):
    """A boolean in a query string: `true`, `false`, `1` or `0`, upper or lower case."""

    documented: ClassVar = {"type": "string", "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)$"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        known = {"true": True, "1": True, "false": False, "0": False}
        if str(value).lower() not in known:
            raise ValidationError("Must be true, false, 1 or 0.")
        return known[str(value).lower()]


class Moment(fields.AwareDateTime):
    """A time with a time zone; loads to UTC. The years are bounded because spans count nanoseconds in 63 bits."""

    _first, _end = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default_timezone=None, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime:
        when: datetime = super()._deserialize(value, attr, data, **kwargs)
        if not self._first <= when < self._end:
            raise ValidationError(f"Must be in the years {FIRST_YEAR} to {LAST_YEAR}.")
        return when.astimezone(UTC)


class Day(fields.Date):
    """A day, YYYY-MM-DD. Its years are bounded too, so that adding and subtracting days never overflows."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format="%Y-%m-%d", **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> date:
        day: date = super()._deserialize(value, attr, data, **kwargs)
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise ValidationError(f"Must be in the years {FIRST_YEAR} to {LAST_YEAR}.")
        return day


class JsonNumber(fields.Float):
    """A JSON number. Without a fraction it loads to an integer, so that 1 and 1.0 are equal."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError("Must be a number.")
        number = self._validated(value)
        return int(number) if number.is_integer() else number


class BoundedList(fields.List[Any]):
    """A list that loads to an `into`. Its length is checked before its entries, so refusing a long list is cheap."""

    def __init__(
        self, inner: Any, *, minimum: int = 0, maximum: int, into: Callable[[Any], Any] = list, **kwargs: Any
    ) -> None:
        super().__init__(inner, **kwargs)
        self._bounds = (minimum, maximum)
        self._into = into
        self.documented: dict[str, Any] = {"minItems": minimum, "maxItems": maximum}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        minimum, maximum = self._bounds
        if isinstance(value, list) and not minimum <= len(value) <= maximum:
            entries = f"{minimum} to {maximum}" if minimum else f"at most {maximum}"
            raise ValidationError(f"Must have {entries} entries.")
        return self._into(super()._deserialize(value, attr, data, **kwargs))


class Identifier(fields.Integer):
    """A positive BIGINT, as a number or as a string of digits."""

    documented: ClassVar = {
        "type": ["integer", "string"],
        "minimum": 1,
        "maximum": BIGINT_MAX,
        "pattern": "^[0-9]{1,19}$",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        digits = isinstance(value, str) and value.isascii() and value.isdigit()
        if not digits and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValidationError("Must be an integer.")
        if not 0 < (number := int(value) if len(str(value)) < 20 else 0) <= BIGINT_MAX:
            raise ValidationError("Must be a positive integer of at most 63 bits.")
        return number


class PageQuerySchema(StrictSchema):
    """A page of a listing. `cursor` is the `nextCursor` of the previous page."""

    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)


def load(schema: Schema, data: Any) -> Any:
    """Load data with a schema. `Invalid` names each wrong field by its path: `placeholders.0.values: …`."""
    try:
        return schema.load(data)
    except ValidationError as error:
        messages = [_short(message) for message in islice(_messages(error.messages), MESSAGES_MAX + 1)]
        raise Invalid(*messages[:MESSAGES_MAX], *(["…"] if len(messages) > MESSAGES_MAX else [])) from error


def _short(message: str) -> str:
    return message if len(message) <= MESSAGE_LENGTH else message[:MESSAGE_LENGTH] + "…"


def _messages(messages: Any, path: str = "") -> Iterator[str]:
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            # marshmallow uses "_schema" for the object itself, and "value" and "key" for the parts of a mapping.
            yield from _messages(inner, path if key == "_schema" else f"{path}.{key}" if path else str(key))
        return
    for message in messages if isinstance(messages, list) else [messages]:
        if isinstance(message, Mapping):
            yield from _messages(message, path)
        else:
            yield f"{path}: {message}" if path else str(message)
