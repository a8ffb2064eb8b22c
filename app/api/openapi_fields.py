"""How apispec reads our fields: what they say of themselves, and patterns as other languages write them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def teach(converter: Any) -> None:
    """Make an apispec converter read the attributes `documented` and `alternatives` of fields."""

    def alternatives(field: Any, **_kwargs: Any) -> Json:
        found = getattr(field, "alternatives", ())
        return {"anyOf": [converter.resolve_nested_schema(one) for one in found]} if found else {}

    # Right after the type, so that validators have the last word on bounds.
    converter.attribute_functions[1:1] = [_documented, alternatives]
    converter.attribute_functions.append(_pattern)


def _documented(field: Any, **_kwargs: Any) -> Json:
    return dict(getattr(field, "documented", {}))


def _pattern(_field: Any, ret: Json, **_kwargs: Any) -> Json:
    r"""Python matches from the beginning, and its `\Z` is what others write as `$`."""
    found = str(ret.get("pattern", ""))
    return {"pattern": "^" + found.removesuffix(r"\Z") + "$"} if found.endswith(r"\Z") else {}
