"""Reads YAML in which aliases repeat other parts, up to a limit."""

from __future__ import annotations

from typing import Any

import yaml

from reprise_formats.importers.text_limits import TextLimits

_TAG = "tag:yaml.org,2002:"
_TAGS = {_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge", "value")}
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")
_NUMBER_MAX = 1000
"""Characters of a number. Python writes no integer of more than 4,300 digits."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads dates and YAML 1.1's numbers to the base 60, such as 1:30, as texts: JSON has none, nor has YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's way
        first: [resolver for resolver in resolvers if resolver[0] != f"{_TAG}timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str, values: int) -> None:
        super().__init__(text)
        self._values, self._left = values, values

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"It has more than {self._values:,} values.")
        return super().compose_node(parent, index)

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        # Only numbers to the base 60 have a colon.
        is_text = kind is yaml.ScalarNode and ":" in value
        tag: str = super().resolve(kind, value, (False, implicit[1]) if is_text else implicit)
        return tag


def load(text: str, limits: TextLimits) -> Any:
    """Return the value of the only document in the text: a value of JSON, perhaps with keys that are no texts.

    Raises `yaml.YAMLError` for what is no YAML, and `ValueError` for a document that exceeds the limits, that contains
    itself, or that has other tags than those of JSON's types. A few lines of aliases to aliases mean more text than any
    memory holds.
    """
    loader = _Loader(text, limits.values)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node, limits.expanded)
        return _construct(loader, node)
    finally:
        loader.dispose()


def _construct(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    try:
        return loader.construct_document(node)
    except (AttributeError, IndexError, KeyError, TypeError) as error:  # PyYAML's, for `!!bool abc` or `!!int ''`
        raise ValueError(f"A value does not suit its tag: {error}") from error


def _check(root: yaml.Node, most: int) -> None:
    """Raise `ValueError` if the expanded document is too large; each node is looked at once."""
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    pending = [root]
    while pending:
        node = pending[-1]
        if id(node) in sizes:
            pending.pop()
            continue
        inner = _within(node)
        if id(node) not in begun:
            begun.add(id(node))
            if node.tag not in _TAGS:
                raise ValueError(f"{node.tag.removeprefix(_TAG)!r} is no type of JSON.")
            if node.tag in _NUMBERS and (":" in node.value or len(node.value) > _NUMBER_MAX):
                raise ValueError(f"A number has more than {_NUMBER_MAX:,} characters, or a colon.")
            unknown = [child for child in inner if id(child) not in sizes]
            if any(id(child) in begun for child in unknown):
                raise ValueError("An alias refers to a node that contains it.")
            pending += unknown
            if unknown:
                continue
        own = len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        sizes[id(node)] = size = 1 + own + sum(sizes[id(child)] for child in inner)
        if size > most:
            raise ValueError("With its aliases replaced the document is too large.")
        pending.pop()


def _within(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
