"""The figures of an audit, and the sentence that verdicts have."""

from __future__ import annotations

import pytest

from app.audit.figures import ProbeOutcome, ProbeVerdict, cohens_kappa, figures_of, lets_pass, noticed_sentence
from app.audit.probes import Probe


def outcomes(*counts: tuple[bool, ProbeVerdict, int], kind: str = "number_changed") -> list[ProbeOutcome]:
    return [
        ProbeOutcome(Probe(1, 0, 0, kind, planted, "a", "b"), verdict)
        for planted, verdict, number in counts
        for _ in range(number)
    ]


def test_the_shares_of_both_sides_and_of_each_kind() -> None:
    judged = outcomes((True, "failed", 37), (True, "passed", 2), (True, "needs_review", 1), (False, "passed", 39))
    judged += outcomes((False, "failed", 1), kind="marks_added")

    figures = figures_of(judged)

    assert (figures.planted.right, figures.planted.probes, figures.planted.undecided) == (37, 40, 1)
    assert figures.planted.interval == pytest.approx((0.801, 0.974), abs=0.001)
    assert (figures.harmless.right, figures.harmless.probes) == (39, 40)
    assert [(kind.kind, kind.planted, kind.share.right) for kind in figures.kinds] == [
        ("marks_added", False, 0),
        ("number_changed", False, 39),
        ("number_changed", True, 37),
    ]
    assert (figures.accuracy, figures.constant) == (0.95, 0.5)
    assert noticed_sentence(figures, "The judge") == (
        "The judge noticed 37 of 40 planted errors (80–97 %). A person has to decide on 1 more."
    )
    assert not lets_pass(figures, 0.95)
    assert lets_pass(figures, 0.96)


def test_kappa_is_the_agreement_beyond_chance() -> None:
    assert cohens_kappa([("failed", "failed")] * 5 + [("passed", "passed")] * 5) == 1
    assert cohens_kappa([("failed", "passed")] * 5 + [("passed", "passed")] * 5) == 0
    assert cohens_kappa([("failed", "passed")] * 5 + [("passed", "failed")] * 5) == -1
    # Cohen 1960's form of the table of Fleiss: 45, 15, 25, 15.
    table = [("y", "y")] * 45 + [("y", "n")] * 15 + [("n", "y")] * 25 + [("n", "n")] * 15
    assert cohens_kappa(table) == pytest.approx(0.1304, abs=1e-4)


def test_without_probes_there_are_no_figures() -> None:
    figures = figures_of([])

    assert (figures.kappa, figures.accuracy, figures.constant) == (None, None, None)
    assert "could not be audited" in noticed_sentence(figures, "The judge")
    assert cohens_kappa([("passed", "passed")] * 3) is None
