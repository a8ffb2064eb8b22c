"""JUnit XML by the rules of dorny/test-reporter and EnricoMi/publish-unit-test-result on GitHub, GitLab and Jenkins.

- They identify a test case by suite, class and name, without white space around the name, so that of two equal test
  cases one disappears.
- They read the counts and the time of the suite, and the time of each test case as a number.
- They show the text of a failure or error, and some only its text. libxml2 refuses texts of more than 10 MB.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from reprise_formats.controls import HIDDEN

NAME_MAX = 1_000
MESSAGE_MAX = 2_000
TEXT_MAX = 100_000
# Characters that XML 1.0 has no way to write, or that are hidden.
_ILLEGAL = re.compile(f"(?!\r)[{HIDDEN}\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class JunitCase:
    """A test case. Its `id` is added to a name that another one has; without an id the name never changes."""

    name: str
    id: int | None
    seconds: float = 0.0
    problem: Literal["failure", "error"] | None = None
    kind: str = ""
    message: str = ""
    text: str = ""
    """What is shown of a problem, and the output of a test case without one."""


def document(suite_name: str, class_name: str, cases: Sequence[JunitCase]) -> str:
    """Return a file with one suite."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=suite_name)
    for case, name in zip(cases, _names(cases), strict=True):
        time = f"{case.seconds:.3f}"
        element = ElementTree.SubElement(suite, "testcase", classname=class_name, name=name, time=time)
        text = legal(_cut(case.text, TEXT_MAX))
        if case.problem:
            message = legal(_cut(case.message, MESSAGE_MAX))
            problem = ElementTree.SubElement(element, case.problem, message=message, type=case.kind or case.problem)
            problem.text = text if text.strip() else message
        elif text:
            ElementTree.SubElement(element, "system-out").text = text
    problems = Counter(case.problem for case in cases)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(problems["failure"]))
    suite.set("errors", str(problems["error"]))
    suite.set("skipped", "0")
    suite.set("time", f"{sum(round(case.seconds, 3) for case in cases):.3f}")
    suites.set("time", suite.get("time", ""))
    ElementTree.indent(suites)
    # With "unicode" Python 3.10 declares the encoding of the system.
    content: bytes = ElementTree.tostring(suites, "utf-8", xml_declaration=True)
    # Read from a pipeline's log, such a text would be a command to the runner (see `terminal`).
    return content.decode().replace("##", "&#35;&#35;").replace("::", "&#58;&#58;") + "\n"


def _names(cases: Sequence[JunitCase]) -> list[str]:
    """Return a name for each test case that no other one has; names that differ already stay."""
    names = [legal(case.name[:NAME_MAX]) if case.name.strip() else f"test case {case.id}" for case in cases]
    counts = Counter(name.strip() for name in names)
    taken = {name for name, count in counts.items() if count == 1}
    taken.update(name.strip() for case, name in zip(cases, names, strict=True) if case.id is None)
    for index, case in enumerate(cases):
        if case.id is None or counts[names[index].strip()] == 1:
            continue
        name, number = names[index].strip(), 1
        unique = f"{name} ({case.id})"
        while unique in taken:
            number += 1
            unique = f"{name} ({case.id}, {number})"
        taken.add(unique)
        names[index] = unique
    return names


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def legal(text: str) -> str:
    """Return the text with U+FFFD for characters that XML 1.0 forbids, and for hidden ones."""
    return _ILLEGAL.sub("\ufffd", text)
