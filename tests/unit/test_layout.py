"""Names lead to one definition, paths to a module's tests, and few places catch every exception."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests/unit"
FOLDERS = ("app", "config", "bench", "clients/python/src")
# Names of the Python client's public interface, which the server also uses for its own nouns.
TWICE = {"File", "ToolCall"}

# The outermost edges: an event stream's, a loop's, the vendors' HTTP's, and that of a process that stores spans.
BROAD_EXCEPTS = Counter(
    {
        "app/http/event_stream.py": 1,
        "app/process/storer.py": 1,
        "app/providers/vendor_models.py": 1,
        "app/work/sweeper.py": 1,
    }
)

# Tests of something else than the app's modules.
OTHER_FOLDERS = {"bench", "config", "costs", "deploy", "docs", "support"}
# Tests of several modules. Name a new one after the module that it tests most.
OF_SEVERAL_MODULES = {
    "cli/test_commands",
    "experiments/test_bounds",
    "experiments/test_table",
    "http/test_benchmark_resources",
    "otlp/normalise/test_conventions",
    "otlp/normalise/test_forged_messages",
    "otlp/normalise/test_items",
    "otlp/normalise/test_results",
    "otlp/normalise/test_unreadable",
    "otlp/test_genai_attributes",
    "providers/test_bounded",
    "providers/test_hostile_vendors",
    "providers/test_retry",
    "replay/test_bounds",
    "replay/test_bounds_of_texts",
    "replay/test_diff",
    "replay/test_recorded_sessions",
    "test_costs",
    "test_imports",
    "test_interpreter",
    "test_layout",
    "test_patterns",
    "web/test_classes",
    "web/test_colors",
    "web/test_words",
}


def _public_classes(folder: Path) -> list[str]:
    return [
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def _names_a_module(test: Path) -> bool:
    """Return True for test_Y.py and test_Y_subject.py if app has a module or package Y in the same folder."""
    words = test.stem.split("_")[1:]
    names = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    folder = ROOT / "app" / test.parent.relative_to(UNIT)
    return any((folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists() for name in names)


def _catches_everything(node: ast.AST) -> bool:
    if not isinstance(node, ast.ExceptHandler):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in kinds)


@pytest.mark.slow
def test_exceptions_are_caught_by_their_kinds_except_at_the_outermost_edges() -> None:
    broad = Counter(
        str(path.relative_to(ROOT))
        for folder in ("app", "config")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if _catches_everything(node)
    )

    assert broad == BROAD_EXCEPTS


@pytest.mark.slow
def test_each_public_class_name_exists_once() -> None:
    counts = Counter(name for folder in FOLDERS for name in _public_classes(ROOT / folder))

    assert {name for name, count in counts.items() if count > 1} <= TWICE


def test_a_unit_test_is_named_after_the_module_that_it_tests() -> None:
    tests = [path for path in UNIT.rglob("test_*.py") if path.relative_to(UNIT).parts[0] not in OTHER_FOLDERS]
    others = {str(path.relative_to(UNIT).with_suffix("")) for path in tests if not _names_a_module(path)}

    assert others <= OF_SEVERAL_MODULES
