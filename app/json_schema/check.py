"""Checks a value against a JSON Schema, and a schema against the schema of schemas.

This module has the keywords that apply other schemas, or name the properties of an object. A rule adds the keys and
indexes that it has looked at to `seen`; `SchemaChecker.check` drops those of a schema that the value breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.json_schema.assertions import ASSERTIONS
from app.json_schema.checker import Breach, Evaluated, Rule, Rules, SchemaChecker, best_match, shown
from app.values.budget import WorkBudget

Schema = dict[str, Any]


def _reference(check: SchemaChecker, target: str, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    return check.check(check.references.resolve(schema, target), value, seen)


def _all_of(check: SchemaChecker, inner: list[Any], value: Any, _schema: Schema, seen: Evaluated) -> list[Breach]:
    return [breach for part in inner for breach in check.check(part, value, seen)]


def _any_of(check: SchemaChecker, inner: list[Any], value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    breaches_of_parts = [check.check(part, value, seen) for part in inner]
    if not all(breaches_of_parts):
        return []
    return [_none_of("anyOf", breaches_of_parts, value, schema)]


def _one_of(check: SchemaChecker, inner: list[Any], value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    breaches_of_parts = [check.check(part, value, seen) for part in inner]
    valid = [part for part, breaches in zip(inner, breaches_of_parts, strict=True) if not breaches]
    if not valid:
        return [_none_of("oneOf", breaches_of_parts, value, schema)]
    if len(valid) == 1:
        return []
    # Other implementations also name the first valid schema last.
    return [
        Breach("oneOf", schema, value, lambda: f"{shown(value)} is valid under each of {_list([*valid[1:], valid[0]])}")
    ]


def _none_of(keyword: str, breaches_of_parts: list[list[Breach]], value: Any, schema: Schema) -> Breach:
    context = [breach for breaches in breaches_of_parts for breach in breaches]
    return Breach(
        keyword, schema, value, lambda: f"{shown(value)} is not valid under any of the given schemas", context
    )


def _not(check: SchemaChecker, inner: Any, value: Any, schema: Schema, _seen: Evaluated) -> list[Breach]:
    if check.check(inner, value):
        return []
    return [Breach("not", schema, value, lambda: f"{shown(value)} should not be valid under {shown(inner)}")]


def _if(check: SchemaChecker, condition: Any, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    branch = "else" if check.check(condition, value, seen) else "then"
    return check.check(schema[branch], value, seen) if branch in schema else []


def _properties(check: SchemaChecker, inner: Schema, value: Any, _schema: Schema, seen: Evaluated) -> list[Breach]:
    few, many = (inner, value) if len(inner) < len(value) else (value, inner)
    check.budget.spend(len(few))
    names = [name for name in few if name in many]
    seen.update(names)
    return [breach for name in names for breach in check.inside(inner[name], value[name], name)]


def _pattern_properties(
    check: SchemaChecker, inner: Schema, value: Any, _schema: Schema, seen: Evaluated
) -> list[Breach]:
    all_breaches: list[Breach] = []
    for pattern in inner:
        names = [name for name in value if check.patterns.match(pattern, name)]
        seen.update(names)
        if check.patterns.supports(pattern):
            all_breaches += [breach for name in names for breach in check.inside(inner[pattern], value[name], name)]
    return all_breaches


def _additional_properties(
    check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated
) -> list[Breach]:
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    check.budget.spend(len(value))
    others = [
        name
        for name in value
        if name not in named and not any(check.patterns.match(pattern, name) for pattern in patterns)
    ]
    seen.update(others)
    return _others(check, inner, value, schema, others, "additionalProperties")


def _unevaluated_properties(
    check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated
) -> list[Breach]:
    check.budget.spend(len(value))
    others = [name for name in value if name not in seen]
    seen.update(others)
    return _others(check, inner, value, schema, others, "unevaluatedProperties")


def _others(
    check: SchemaChecker, inner: Any, value: dict[str, Any], schema: Schema, names: list[str], keyword: str
) -> list[Breach]:
    if inner is False and names:
        kind = "Additional" if keyword.startswith("additional") else "Unevaluated"
        return [Breach(keyword, schema, value, lambda: f"{kind} properties are not allowed: {_list(names)}")]
    return check.each(inner, value, names)


def _property_names(check: SchemaChecker, inner: Any, value: Any, _schema: Schema, _seen: Evaluated) -> list[Breach]:
    return [breach for name in value for breach in check.check(inner, name)]


def _required(check: SchemaChecker, names: list[str], value: Any, schema: Schema, _seen: Evaluated) -> list[Breach]:
    check.budget.spend(len(names))
    return [_missing("required", name, value, schema) for name in names if name not in value]


def _missing(keyword: str, name: str, value: Any, schema: Schema) -> Breach:
    return Breach(keyword, schema, value, lambda: f"{shown(name)} is a required property")


def _dependencies(check: SchemaChecker, inner: Schema, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    """Check names that need other names, and schemas that apply if a name is there: one keyword in draft 7."""
    all_breaches: list[Breach] = []
    check.budget.spend(len(inner))
    for name, needed in inner.items():
        if name in value and isinstance(needed, list):
            check.budget.spend(len(needed))
            all_breaches += [
                _dependent(dependency, name, value, schema) for dependency in needed if dependency not in value
            ]
        elif name in value:
            all_breaches += check.check(needed, value, seen)
    return all_breaches


def _dependent(name: str, of: str, value: Any, schema: Schema) -> Breach:
    return Breach("dependentRequired", schema, value, lambda: f"{shown(name)} is a dependency of {shown(of)}")


def _prefix_items(check: SchemaChecker, inner: list[Any], value: Any, _schema: Schema, seen: Evaluated) -> list[Breach]:
    indexes = range(min(len(inner), len(value)))
    seen.update(indexes)
    return [breach for index in indexes for breach in check.inside(inner[index], value[index], index)]


def _items(check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    """Check items. In draft 7 a list of schemas is what later drafts call prefixItems."""
    if isinstance(inner, list):
        return _prefix_items(check, inner, value, schema, seen)
    return _rest(check, inner, value, schema, seen, len(schema.get("prefixItems", ())))


def _additional_items(check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    first = schema.get("items")
    return _rest(check, inner, value, schema, seen, len(first)) if isinstance(first, list) else []


def _rest(check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated, first: int) -> list[Breach]:
    if len(value) <= first:
        return []
    if inner is False:
        message = f"Expected at most {first} items but found {len(value) - first} more"
        return [Breach("items", schema, value, lambda: message)]
    indexes = range(first, len(value))
    seen.update(indexes)
    return check.each(inner, value, indexes)


def _unevaluated_items(check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    check.budget.spend(len(value))
    others = [index for index in range(len(value)) if index not in seen]
    seen.update(others)
    if inner is False and others:
        message = "Unevaluated items are not allowed: "
        return [Breach("unevaluatedItems", schema, value, lambda: message + _list([value[index] for index in others]))]
    return check.each(inner, value, others)


def _contains(check: SchemaChecker, inner: Any, value: Any, schema: Schema, seen: Evaluated) -> list[Breach]:
    matching = [index for index, item in enumerate(value) if not check.check(inner, item)]
    seen.update(matching)
    least, most, count = schema.get("minContains", 1), schema.get("maxContains", len(value)), len(matching)
    if least <= count <= most:
        return []
    if count > most:
        message = f"Too many items match the given schema (expected at most {most})"
    elif count:
        message = f"Too few items match the given schema (expected at least {least} but only {count} matched)"
    else:
        message = "{} does not contain items matching the given schema"
    return [Breach("contains", schema, value, lambda: message.format(shown(value)))]


def _list(values: Iterable[Any]) -> str:
    """Return the values as a message shows them, cut off if there are many."""
    return shown(list(values))[1:].removesuffix("]")


_FOR_OBJECTS: dict[str, Rule] = {
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "propertyNames": _property_names,
    "required": _required,
    "dependencies": _dependencies,
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies,
}
_FOR_ARRAYS: dict[str, Rule] = {
    "prefixItems": _prefix_items,
    "items": _items,
    "additionalItems": _additional_items,
    "unevaluatedItems": _unevaluated_items,
    "contains": _contains,
}
_FOR_ALL: dict[str, Rule] = ASSERTIONS | {
    "$ref": _reference,
    "$dynamicRef": _reference,
    "$recursiveRef": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}

KEYWORDS: Rules = {
    keyword: (json_type, rule)
    for json_type, rules in ((dict, _FOR_OBJECTS), (list, _FOR_ARRAYS), (object, _FOR_ALL))
    for keyword, rule in rules.items()
}

_SCHEMA: Schema = {"$ref": "#"}
_SCHEMAS: Schema = {"type": "array", "minItems": 1, "items": _SCHEMA}
_NAMED_SCHEMAS: Schema = {"type": "object", "additionalProperties": _SCHEMA}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT, "uniqueItems": True}
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LIST: Schema = {"type": "array"}
_TYPE: Schema = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}


def _each(form: Schema, names: str) -> Schema:
    return dict.fromkeys(names.split(), form)


METASCHEMA: Schema = {
    "type": ["object", "boolean"],
    "properties": {
        **_each(_TEXT, "$id $schema $ref $recursiveRef $anchor $dynamicRef $dynamicAnchor $comment title description"),
        **_each(_TEXT, "pattern format contentMediaType contentEncoding"),
        **_each(_FLAG, "readOnly uniqueItems"),
        **_each(_NUMBER, "maximum exclusiveMaximum minimum exclusiveMinimum"),
        **_each(_COUNT, "maxLength minLength maxItems minItems maxProperties minProperties minContains maxContains"),
        **_each(_LIST, "enum examples"),
        **_each(_SCHEMA, "additionalItems additionalProperties contains propertyNames if then else not"),
        **_each(_SCHEMA, "unevaluatedItems unevaluatedProperties"),
        **_each(_SCHEMAS, "allOf anyOf oneOf prefixItems"),
        **_each(_NAMED_SCHEMAS, "definitions $defs properties patternProperties dependentSchemas"),
        "dependencies": {"type": "object", "additionalProperties": {"anyOf": [_SCHEMA, _TEXTS]}},
        "dependentRequired": {"type": "object", "additionalProperties": _TEXTS},
        "items": {"anyOf": [_SCHEMA, _SCHEMAS]},
        "multipleOf": _NUMBER | {"exclusiveMinimum": 0},
        "required": _TEXTS,
        "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1, "uniqueItems": True}]},
    },
}


# Half a second of processor time at worst. They suffice to check an answer of a megabyte against an ordinary schema.
CHECK_STEPS_MAX = 400_000


def breach_of(schema: Any, value: Any, budget: WorkBudget) -> Breach | None:
    """Return the most relevant breach; None for a valid value.

    Raises `OverBudget` when the budget is used up, `Unresolvable` for a reference to nothing and RecursionError for a
    reference to itself.
    """
    return best_match(SchemaChecker(schema, budget, KEYWORDS).check(schema, value))


def schema_breach(schema: Any, budget: WorkBudget) -> Breach | None:
    """Return the most relevant breach of a value that is not a JSON Schema; raises `OverBudget`."""
    return breach_of(METASCHEMA, schema, budget)
