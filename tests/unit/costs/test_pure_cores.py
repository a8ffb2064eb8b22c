"""Searching, checking schemas, rendering, deciding experiments and finding prices is linear in each function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from app.chat import Tokens
from app.errors import Invalid
from app.experiments.behaviour import EDITION, Behaviour
from app.experiments.behaviour_watch import ReplayShare, WatchedBehaviour, tail
from app.experiments.comparison import Estimate, Finding, estimated_mean, estimated_quantile, summary
from app.experiments.decision import decide
from app.experiments.drift import Counts, Watched
from app.experiments.ranking import ranks
from app.experiments.statistics import pass_k, percentile
from app.experiments.types import CaseTrials, Design, Trial
from app.json_schema.check import breach_of, schema_breach
from app.json_schema.checker import Breach
from app.json_schema.references import Unresolvable
from app.prices.book import NO_PRICES, PriceBook, PriceList
from app.prices.names import keys_of
from app.prices.types import CalledModel, Prices, Tariff, total
from app.rendering.blocks import link_labels, scan
from app.rendering.matching import Template, names_by_content, names_of
from app.rendering.render import Placeholder, PlaceholderValue, filled_length, to_xml
from app.search.blocks import changed_buckets, terms_by_bucket, turns_with, unindexed_in
from app.search.query import parse
from app.search.words import placed_words, word_set, words_of
from app.values.budget import OverBudget, WorkBudget
from app.webhooks.message import WebhookMessage, body_of, headers_of
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests
from tests.unit.experiments.test_bounds import DESIGN
from tests.unit.json_schema.test_check_budget import CHECKS

pytestmark = pytest.mark.slow

FOLDERS = ("search", "json_schema", "rendering", "experiments", "prices", "webhooks")
# Pieces of texts, repeated to the size of an input.
PIECES = {
    "words": "refund order ",
    "words of one letter": "a ",
    "one word": "a",
    "accents": "é ",
    "combining marks": "\u0301\u0323",
    "marks on a letter": "e\u0301\u0323 ",
    "half pairs": "\ud800 ",
    "characters that grow": "\ufdfa",
    "a script without spaces": "東京",
    "Base64": "QUJDREVGR0hJSktMTU5P",
    "letters that become two": "ß",
}


def text_of(piece: str) -> Make:
    def make(size: int) -> Work:
        text = piece * 60 * size
        query = parse('refund "order refund" re* 東京 -zebra')

        def work() -> None:
            words_of(text)
            word_set(text)
            list(placed_words(text))
            query.places_in(text)
            query.places_in(text, reach=3)
            query.matches([text, "zebra"])

        return work

    return make


def different_words(size: int) -> Work:
    text = " ".join(f"w{number}" for number in range(20 * size))
    return lambda: (word_set(text), word_set(f"é {text}"))


def block(word: str) -> Make:
    """Put as many words of 64 turns into a block, which has others of them."""

    def make(size: int) -> Work:
        def words(first: int) -> dict[str, int]:
            return {word.format(number): 1 << number % 64 for number in range(first, first + 10 * size)}

        stored = changed_buckets({}, (1 << 64) - 1, words(0), 1)
        lines = max(stored.values(), key=len)
        terms = [term for listed in terms_by_bucket(parse("aa* refund -order")).values() for term in listed]

        def work() -> None:
            changed_buckets(stored, 1 << 63, words(5 * size), 2)
            unindexed_in(lines)
            for term in terms:
                turns_with(term, lines)

        return work

    return make


def full_block(size: int) -> Work:
    """Give a block more words than it may have, so that the longest turns are left out."""
    words = {f"aa{'x' * 60}{number:08}": 1 << number % 64 for number in range(25_000 + 10 * size)}
    return lambda: changed_buckets({}, (1 << 64) - 1, words, 0)


def queries(size: int) -> Work:
    """Read a query of too many words, and one of as many signs."""

    def work() -> None:
        with pytest.raises(Invalid):
            parse(" ".join(f'-"word{number}"' for number in range(size)))
        parse("a" + ' -"" -' * size)

    return work


def show(breach: Breach | None) -> None:
    if breach is not None:
        breach.message()
        assert breach.json_path


def in_alternatives(depth: int) -> Any:
    rules: Any = {"type": "string"}
    for _ in range(depth):
        rules = {"anyOf": [rules]}
    return rules


SCHEMAS: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "patterns of names": lambda n: ({"patternProperties": {"a": {"type": "string"}}}, {f"a{i}": i for i in range(n)}),
    "many patterns of names": lambda n: (
        {"patternProperties": {f"{i}x": {} for i in range(n)}, "additionalProperties": False},
        {"a": 1, "b": 2},
    ),
    "names": lambda n: ({"propertyNames": {"maxLength": 1}}, {f"a{i}": i for i in range(n)}),
    "dependent schemas": lambda n: (
        {"dependentSchemas": {f"a{i}": {"type": "string"} for i in range(n)}},
        {f"a{i}": i for i in range(n)},
    ),
    "first items": lambda n: ({"prefixItems": [{"type": "string"}] * n, "items": {"type": "null"}}, [1] * 2 * n),
    "contained items": lambda n: ({"contains": {"type": "string"}, "minContains": n}, [1, "a"] * n),
    "one of several types": lambda n: ({"type": ["string"] * n}, 1),
    "two alternatives that hold": lambda n: ({"oneOf": [{"type": "integer"}, {"type": "string"}] * n}, 1),
    "nested values": lambda n: ({"const": 1}, [[{"a": i}] for i in range(n)]),
    "nested objects": lambda n: (
        {"$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}, "type": "object"}}, "$ref": "#/$defs/a"},
        nested(min(n, 90)),
    ),
    "steps of a reference": lambda n: (
        {"allOf": [{"$ref": f"#/$defs/{'a~1b/' * 3}c"}] * n, "$defs": {"a/b": {"a/b": {"a/b": {"c": True}}}}},
        1,
    ),
    "alternatives in alternatives": lambda n: (in_alternatives(min(n // 4, 40)), 1),
    "unevaluated names": lambda n: ({"unevaluatedProperties": {"type": "string"}}, {f"a{i}": i for i in range(n)}),
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def schema(make: Callable[[int], tuple[Any, Any]]) -> Make:
    def prepare(size: int) -> Work:
        rules, value = make(2 * size)

        def work() -> None:
            show(schema_breach(rules, WorkBudget()))
            with suppress(Unresolvable):
                show(breach_of(rules, value, WorkBudget()))

        return work

    return prepare


MARKDOWN = {
    "headings": "# *a* [b](c) ![d](e)\n",
    "link definitions": "[a]: b\n",
    "lists in lists": "* ",
    "quotes": ">",
    "HTML": "<a\n",
    "fences": "```\n",
    "marks": "# [*a_`<&\n",
}


def markdown(piece: str) -> Make:
    return lambda size: lambda: to_xml(piece * 4 * size)


def titles_with_links(size: int) -> Work:
    """Convert titles that name links, of which the text defines as many, and quotes that may be too many."""
    text = "".join(f"# [k{n}]\n[k{n}]: b\n\n" for n in range(size))
    with pytest.raises(OverBudget):
        scan(">" * 1_000 + "\na" * 200_000)
    return lambda: (to_xml(text), link_labels(text))


def placeholders(size: int) -> Work:
    """Find the values of as many placeholders in an instruction, and their names."""
    text = " ".join(f"word{n} {{{{k{n}}}}}" for n in range(size))
    filled = " ".join(f"word{n} v{n}" for n in range(size))
    keys = {f"k{n}" for n in range(size)}
    defined = [Placeholder(f"k{n}", (PlaceholderValue("a", "x"), PlaceholderValue("b", f"v{n}"))) for n in range(size)]
    many = Placeholder("k0", tuple(PlaceholderValue(f"{n}", f"w{n}") for n in range(size)))

    def work() -> None:
        values = Template(text, "RAW", keys).values(filled) or {}
        assert len(values) == size
        names_of(values, names_by_content([*defined, many]))
        Template(text, "RAW", set()).values(filled)
        Template(text, "XML", keys).values(filled.replace("v", "&"))
        Template(text, "XML", keys).values(to_xml(filled))
        filled_length(text, dict.fromkeys(keys, 7))

    return work


def trials(results: str) -> tuple[Trial, ...]:
    return tuple(Trial(mark == "P", mark == "V", 1.0, "void" if mark == "U" else None) for mark in results)


def experiment(candidate: str, baseline: str, **design: Any) -> Make:
    """Decide an experiment with as many test cases."""
    given = {"max_slowdown": None, "min_pass_rate": 0.5, "has_baseline": bool(baseline)} | design
    asked = Design(4, 20, 0.5, 0.05, **given)

    def make(size: int) -> Work:
        cases = [CaseTrials(trials(candidate), trials(baseline))] * size
        decide(asked, cases[:1])  # fills the caches of a design
        return lambda: (decide(asked, cases), decide(asked, cases, exhausted="the cost reached $1"))

    return make


def equal_sides(size: int) -> Work:
    cases = [CaseTrials(trials(result), trials(result)) for result in ("P", "F", "") * size]
    return lambda: decide(DESIGN, cases, has_equal_sides=True)


def long_experiment(size: int) -> Work:
    """Decide an experiment with one test case that was played as often."""
    asked = Design(4, 10 * size, 0.5, 0.05, min_pass_rate=0.5, max_slowdown=1.5, has_baseline=True)
    case = CaseTrials(trials("PF" * 5 * size), trials("PPF" * 3 * size))
    decide(asked, [case])
    return lambda: decide(asked, [case])


def watch(size: int) -> Work:
    """Decide a run of the watch with as many test cases, of which one was played as often."""
    asked = Design(10, 200, 0.25, 0.05, min_pass_rate=None, max_slowdown=None, has_baseline=False)
    results = ["P" * 8 + "FF"] * size + ["P" * 8 * size]
    cases = [CaseTrials(trials(result), watched=Watched(Counts(295, 5))) for result in results]
    return lambda: decide(asked, cases)


def answers(*, with_tools: bool) -> Make:
    """Compare as many replays, each with its own length, and order and tools if it has any, with others."""

    def answer(kind: str, number: int, length: int) -> Behaviour:
        tools = ((f"{kind}{number}", number), (f"tool{number}", 2)) if with_tools else ()
        return Behaviour(EDITION, length, tools, tuple(name for name, _ in tools), "en")

    def prepare(size: int) -> Work:
        samples = [
            [answer(kind, n, 2 ** (n // 2 + shift)) for n in range(3 * size)]
            for kind, shift in (("a", 0), ("b", 2 * size))
        ]

        def work() -> None:
            state = WatchedBehaviour()
            for run, played in enumerate([samples[0] * 2, samples[1]]):
                state = state.after_run(played, cases=1, run=run)
            assert [change.text for change in state.changes]
            tail(ReplayShare(4 * size, 9 * size), ReplayShare(3 * size, 9 * size))

        return work

    return prepare


def figures(size: int) -> Work:
    values = [float(n) for n in range(10 * size)]
    estimates = Estimate(1, 0.9, 1.1), Estimate(2, 1.9, 2.1)
    decisions = [decide(DESIGN, [CaseTrials(trials("PF" * (n % 3 + 1)))]) for n in range(size)]
    findings = [Finding(f"score {n}", *estimates, score=True) for n in range(size)]

    def work() -> None:
        estimated_mean(values)
        estimated_mean([1.0] * 10 * size)
        estimated_quantile(dict.fromkeys(range(10 * size), 1), 0.9)
        percentile(values, 0.9)
        pass_k(5 * size, 10 * size)
        ranks(decisions)
        summary([*findings, *(Finding("turnMs", *estimates, better="lower") for _ in range(size))])

    return work


def prices(size: int) -> Work:
    """Look up models that are not in a list of as many, and are another's deployment."""
    tariffs = [("OPENAI", Tariff(f"openai/model-{n}", Prices(Decimal(1), Decimal(2)))) for n in range(size)]
    own = {("", f"own-{n}"): tariffs[n][1] for n in range(size)}

    def work() -> None:
        book = PriceBook(PriceList.of(tariffs), own)
        book.find(CalledModel("azure", f"our-model-{size - 1}-deployment"))
        total(NO_PRICES.bill(CalledModel("acme", f"m{n}"), Tokens(1, 1)) for n in range(size))
        keys_of(f"gpt-{'4-' * size}-2024-01-01")

    return work


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def webhook(size: int) -> Work:
    causes = [{"code": f"c{n}", "count": n} for n in range(size)]
    message = WebhookMessage("m", "spans.rejected", NOW, {"projectId": 1, "rejected": size, "causes": causes})
    secrets = ["whsec_QUJD"] * size
    return lambda: headers_of("m", body_of(message, "slack", base_url="https://a.b"), secrets, NOW)


WORKS: dict[str, Make] = {
    **{f"a text of {name}": text_of(piece) for name, piece in PIECES.items()},
    "different words": different_words,
    "words that begin alike": block("aa{:06}"),
    "words that begin differently": block("{:06}aa"),
    "a full block": full_block,
    "queries": queries,
    **{f"a schema: {name}": schema(make) for name, make in (CHECKS | SCHEMAS).items()},
    **{f"Markdown: {name}": markdown(piece) for name, piece in MARKDOWN.items()},
    "titles with links": titles_with_links,
    "placeholders": placeholders,
    **{
        f"an experiment: {candidate} and {baseline or 'no baseline'}": experiment(candidate, baseline)
        for candidate in ("PPPP", "FFFF", "PFPFPFPF", "VVVV", "UUUUUU", "P")
        for baseline in ("PPPPPPPP", "FFFF", "PF", "")
    },
    "an experiment that can show nothing": experiment("FFFF", "FFFF", min_pass_rate=None, min_sighted=0.9),
    "an experiment that asks for speed": experiment("PPPP", "PPPP", max_slowdown=1.5),
    "an experiment of equal sides": equal_sides,
    "an experiment of many replays": long_experiment,
    "a run of the watch": watch,
    "answers of a test case": answers(with_tools=False),
    "answers of a test case with tools": answers(with_tools=True),
    "figures": figures,
    "prices": prices,
    "a webhook": webhook,
}
CORE = Core(FOLDERS, WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over the at most 100 repeats of a design, and the result is cached": {
        "experiments/clearing:_cleared",
        "experiments/clearing:_outcomes",
    },
    "loop over a few bets, terms, words or prices of the module": {
        "experiments/comparison:estimated_quantile",
        "experiments/comparison:student",
        "experiments/drift:_log_likelihood",
        "experiments/reasons:_counted",
        "experiments/regression:_evidence",
        "experiments/sequential:log_wealth",
        "prices/names:_generation",
        "prices/names:_claude_orders",
        "prices/names:keys_of",
        "prices/types:_check",
    },
    "loop over the features of a test case, in which tools have 64 places": {
        "experiments/behaviour_watch:_splits",
        "experiments/behaviour_watch:changes_between",
    },
    "read at most 1,001 due times": {"experiments/cron:_due_times", "experiments/cron:check_cron"},
    "loop over the failures of a round, which has at most 100 pairs": {"experiments/sequential:log_evidence"},
    "loop over the keys of one name, which has at most 255 characters": {
        "prices/book:PriceBook._own",
        "prices/book:PriceList.find",
    },
    "adds up lengths by one call into C": {"rendering/matching:Template.__init__"},
    "end where a message is long enough": {
        "json_schema/checker:Breach.json_path",
        "json_schema/checker:_pieces",
        "json_schema/checker:shown",
    },
    "loop over the 64 turns or the 64 buckets of a block": {
        "search/blocks:_longest",
        "search/blocks:_merged",
        "search/blocks:_turns_of",
        "search/blocks:unindexed_in",
        "search/blocks:changed_buckets",
    },
    "loop over the words of a query, which has at most 16": {
        "search/blocks:terms_by_bucket",
        "search/query:Query.matches",
        "search/query:Query.is_exact",
        "search/query:Query.wanted",
    },
    "loop over the characters of one form, of which the result is cached": {"search/words:_separates_words"},
    "read lines that open so many quotes and lists that a text has few of them": {"rendering/blocks:_most_markers"},
    "loop over the signs of the module": {"search/words:_spaces_for_data"},
    "loop over the causes of one error": {"webhooks/sender:_causes", "webhooks/sender:_reason"},
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
