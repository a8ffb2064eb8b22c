"""Writes an experiment as Markdown, for a comment on a pull request or for the summary of a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from reprise_formats.experiment_summary import (
    TEXT_MAX,
    Json,
    address_of,
    baseline_of,
    candidate_of,
    candidate_words,
    candidates_of,
    cases_of,
    class_words,
    cost,
    failing,
    plain,
    ranked,
    replay_address,
    total_of,
)
from reprise_formats.formats import duration, usd

# A comment on GitHub holds 65,536 characters, and one on GitLab more.
COMMENT_BYTES = 55_000  # bytes of all but the last lines
NAME_MAX = 100
LINKS_MAX = 5
VIOLATIONS_MAX = 20
TITLES = {"passed": "Passed", "failed": "Failed", "inconclusive": "Inconclusive"}
# The characters with a meaning in Markdown, mentions, emoji, references and formulas.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#+!|~&@:$^]|(?<=[wW])\.")


def inert(text: str, most: int = TEXT_MAX) -> str:
    """Return a text of others that Markdown shows unchanged: no markup, mention, emoji, reference or link.

    An invisible space follows `@`, `#` and `:`, which GitHub and GitLab look for after they have read the Markdown.
    """
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};" + "&#8203;" * (match[0] in "@#:"), plain(text, most))


def markdown(experiment: Json, sentence: str, advice: str) -> str:
    """Return the comment; `sentence` and `advice` are Markdown. What does not fit is on the experiment's page."""
    title = TITLES.get(experiment["verdict"], experiment["status"].capitalize())
    lines = [f"**{title}.** {sentence}.", "", advice]
    for part in (_candidates, _violations, _cases, _models):
        lines += part(experiment)
    return "\n".join([*_within(COMMENT_BYTES, lines), "", _link("The experiment", address_of(experiment))]) + "\n"


def _within(room: int, lines: Iterable[str]) -> Iterator[str]:
    """Yield the first lines of at most so many bytes, and a line that counts the omitted ones."""
    for line in lines:
        room -= len(line.encode("utf-8", "surrogatepass")) + 1
        if room < 0:
            yield "\nThe rest is too long to be shown here."
            return
        yield line


def _candidates(experiment: Json) -> Iterator[str]:
    candidates = candidates_of(experiment)
    if candidates:
        yield "\n| Rank | Candidate | Verdict | Shown |"
        yield "|---|---|---|---|"
    for candidate in candidates:
        verdict = TITLES.get(candidate["verdict"], "Undecided")
        name = inert(candidate["name"], NAME_MAX)
        yield f"| {candidate['rank']} | {name} | {verdict} | {candidate_words(candidate)} |"


def _violations(experiment: Json) -> Iterator[str]:
    violations = experiment["violations"]
    if violations:
        yield "\n### What the candidate must not do\n"
    for violation in violations[:VIOLATIONS_MAX]:
        replay = violation.get("replayId")
        link = f" ({_replay(experiment, replay)})" if replay is not None else ""
        yield f"- {inert(violation['message'])}{link}"
    if len(violations) > VIOLATIONS_MAX:
        yield f"- and {len(violations) - VIOLATIONS_MAX} more"


def _cases(experiment: Json) -> Iterator[str]:
    cases = ranked(experiment)
    if cases:
        against = baseline_of(experiment)
        versus = f" {inert(_capital(against), NAME_MAX)} |" if against else ""
        yield f"\n| Test | Result | {inert(_capital(candidate_of(experiment)), NAME_MAX)} |{versus} Failing replays |"
        yield "|---|---|---|---|" + "---|" * bool(against)
    for case in cases:
        name = inert(case["name"], NAME_MAX) or "(no name)"
        sides = [_side(case["candidate"]), *([_side(case["baseline"])] if against else [])]
        result = class_words(case)
        result = f"**{result}**" if case["class"] == "regressed" else result
        yield f"| {' | '.join([name, result, *sides, _failing(experiment, case['candidate'])])} |"


def _models(experiment: Json) -> Iterator[str]:
    models = experiment.get("models") or ()
    if models:
        yield "\n| Model | Replays passed | Cost of a replay |"
        yield "|---|---|---|"
        yield _model(f"{inert(_capital(candidate_of(experiment)), NAME_MAX)}'s own", cases_of(experiment))
    for model in models:
        yield _model(inert(model["languageModelName"], NAME_MAX), model["testCases"])


def _model(name: str, cases: Sequence[Json]) -> str:
    total = total_of(case["candidate"] for case in cases)
    cost_per_run = usd(total.cost / total.runs) if total.runs else "–"
    return f"| {name} | {total.passed} of {total.runs} | {cost_per_run} |"


def _side(side: Json | None) -> str:
    """Return the passes of a side, its cost and the time of half its replays."""
    if not side or not side["runs"]:
        return "–"
    half = (side["latency"] or {}).get("p50")
    return ", ".join(
        [f"{side['passed']} of {side['runs']}", usd(cost(side)), *([] if half is None else [duration(half)])]
    )


def _failing(experiment: Json, side: Json) -> str:
    replays = failing(side)
    more = [f"and {len(replays) - LINKS_MAX} more"] * (len(replays) > LINKS_MAX)
    return ", ".join([_replay(experiment, replay) for replay in replays[:LINKS_MAX]] + more)


def _replay(experiment: Json, replay_id: int) -> str:
    return _link(str(replay_id), replay_address(experiment, replay_id))


def _link(text: str, address: str) -> str:
    return f"[{text}]({address})" if address else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
