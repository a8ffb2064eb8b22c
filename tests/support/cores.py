"""The functions of a core that loop, and what their loops do on an input and on one of twice the size."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.growth import Work, grown, work_by_function
from tests.support.operations import APP

LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPING_CALLS = {"map", "filter", "sorted", "sum", "any", "all"}
# Less work is no sign of growth.
FLOOR = 400
# A function sees an input if its work grows by this part at least when the input is twice as large.
SEEN = 1.25

Make = Callable[[int], Work]


class Core:
    """Works that drive the functions of folders of the app, each made for a size of its input.

    `jumps` are functions that begin to work at a size.
    """

    def __init__(
        self, folders: Sequence[str], works: Mapping[str, Make], size: int, jumps: Set[str] = frozenset()
    ) -> None:
        self.works = works
        self._folders = folders
        self._size = size
        self._jumps = jumps
        self._costs = cache(self._counted)

    def grown(self, name: str) -> dict[str, Any]:
        """Return the functions of which a work on twice the input has more than about twice the work."""
        once, twice = self._costs(name)
        return {name: costs for name, costs in grown({}, once, twice, FLOOR).items() if name not in self._jumps}

    def unseen(self) -> set[str]:
        """Return the functions of the folders that loop, and that no work gives an input that makes them loop more."""
        seen = set[str]()
        for name in self.works:
            once, twice = self._costs(name)
            seen |= {function for function, count in twice.items() if count >= SEEN * once[function] + 3}
        return self.looping() - seen

    def looping(self) -> set[str]:
        """Return the functions of the folders that loop themselves."""
        return set[str]().union(*map(looping_functions, self._folders))

    def _counted(self, name: str) -> tuple[Counter[str], Counter[str]]:
        once, twice = (self.works[name](size) for size in (self._size, 2 * self._size))
        return work_by_function(once), work_by_function(twice)


def looping_functions(folder: str) -> set[str]:
    """Return the paths and names of the functions of a folder, or of a module, that loop themselves.

    They loop with a statement, or by a call as `map`.
    """
    module = Path(APP, f"{folder}.py")
    return {
        f"{path.relative_to(APP).with_suffix('')}:{name}"
        for path in ([module] if module.is_file() else Path(APP, folder).rglob("*.py"))
        for name, function in _functions(ast.parse(path.read_text()), "")
        if any(map(_loops, ast.walk(function)))
    }


def _functions(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{prefix}{inner.name}.")
        elif isinstance(inner, ast.FunctionDef):
            yield f"{prefix}{inner.name}", inner


def _loops(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in LOOPING_CALLS
    return isinstance(node, LOOPS)
