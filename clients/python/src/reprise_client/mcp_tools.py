"""The tools of `reprise mcp`: methods that answer with bounded text; a model reads their docstrings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from reprise_formats import experiment_report as report
from reprise_formats.experiment_summary import cases_of

from reprise_client import mcp_texts as texts
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.findings import changes_of, finding_line, finding_lines, list_lines, path_of
from reprise_client.cli.gate_failures import read_failures
from reprise_client.cli.gate_run import ExperimentWatch
from reprise_client.cli.guard_map import markdown_lines
from reprise_client.cli.remote import LOOK_S, UNFINISHED, Remote
from reprise_client.cli.schedules import run_lines, schedule_lines, watch_lines
from reprise_client.cli.suite import coverage_lines, proposal_lines
from reprise_client.cli.versions import full_hash

PAGE_SIZE = 20
RUNS_SHOWN = 5
# A client gives up on a call after a minute or so.
WAIT_MAX_S = 50.0
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Tools:
    """The tools of one project. They raise `CouldNotRun` with the server's words."""

    instance: Remote

    def list_prompts(self, search: str = "", cursor: str = "") -> str:
        """List the project's prompts with their ids, newest first.

        search: a part of the name. cursor: where the answer before this one ended.
        """
        query = {"limit": PAGE_SIZE, **_given(search=search, cursor=cursor)}
        return texts.listed(self.instance.get("/api/v1/prompts", **query), "prompts", texts.prompt_line)

    def read_prompt(self, prompt_id: int, version: str = "draft", offset: int = 0) -> str:
        """Read a prompt: its model, placeholders, tools, and its text at the end.

        version: "draft", "latest", or the first digits of a commit hash.
        offset: where the answer before this one ended.
        """
        return texts.page(texts.prompt(self._prompt(prompt_id, version), version), offset)

    def list_versions(self, prompt_id: int) -> str:
        """List the newest versions of a prompt: commit hash, time, labels, message."""
        versions = self.instance.get(f"/api/v1/prompts/{prompt_id}/versions")["versions"]
        return texts.lines(map(texts.version_line, versions[:100]), "The prompt has no version.")

    def render_prompt(
        self, prompt_id: int, placeholders: dict[str, str] | None = None, version: str = "draft", offset: int = 0
    ) -> str:
        """Render a prompt as a model receives it.

        placeholders: the name of the chosen value of each key; a key that is left out has its default.
        version: "draft", "latest", or the first digits of a commit hash.
        offset: where the answer before this one ended.
        """
        body: dict[str, Any] = {"placeholders": placeholders or {}, "productive": False}
        if version != "draft":
            body["commitHash"] = full_hash(self.instance, prompt_id, version)
        rendered = self.instance.post(f"/api/v1/prompts/{prompt_id}/render", body, harmless=True)
        return texts.page(texts.rendered(rendered), offset)

    def list_sessions(
        self,
        prompt_id: int | None = None,
        search: str = "",
        errors: bool | None = None,
        failed_tool: str = "",
        score: str = "",
        max_score: float | None = None,
        cursor: str = "",
    ) -> str:
        """List recorded conversations with their ids, newest first: a prompt's, or those of the whole project.

        search: the words of one turn: words, "phrases", beginnings as refund*, and -words. errors: with an error
        (true) or without any. failed_tool: a tool that failed. score: the name of a score, of at most max_score.
        cursor: where the answer before this one ended.
        """
        filters = _given(promptId=prompt_id, q=search, failedTool=failed_tool, score=score, maxScore=max_score)
        if errors is not None:
            filters["errors"] = str(errors).lower()
        page = self.instance.get("/api/v1/sessions", limit=PAGE_SIZE, **filters, **_given(cursor=cursor))
        return texts.listed(page, "sessions", texts.session_line)

    def read_session(self, session_id: str, offset: int = 0) -> str:
        """Read a recorded conversation: the user's messages, the tool calls with their results, the answers.

        offset: where the answer before this one ended.
        """
        session = self.instance.get(f"/api/v1/sessions/{quote(session_id, safe='')}")
        return texts.page(texts.session(session), offset)

    def read_insight(self, prompt_id: int, group_by: str = "version", days: int = 7) -> str:
        """Read how a prompt did in the last days: sessions, errors, cost, runs, replays and scores.

        group_by: "version", "label", "model" or "day".
        """
        since = (datetime.now(timezone.utc) - timedelta(days=min(max(days, 1), 366) - 1)).date().isoformat()
        insight = self.instance.get(f"/api/v1/prompts/{prompt_id}/insight", groupBy=group_by, **{"from": since})
        return texts.lines((texts.insight_line(group, group_by) for group in insight["groups"]), "There is nothing.")

    def read_coverage(self, prompt_id: int) -> str:
        """Read how much of the recorded conversations the suites of a prompt represent, and what no test does."""
        suites = self.instance.get(f"/api/v1/prompts/{prompt_id}/suites").listed("suites")
        read = ((row, self.instance.get(f"/api/v1/suites/{row['id']}/coverage")) for row in suites[:PAGE_SIZE])
        lines = (line for row, coverage in read for line in (f"# {row['name']}", *coverage_lines(coverage)))
        return texts.page("\n".join(lines) or "The prompt has no suite: see propose_suite.", 0)

    def propose_suite(self, prompt_id: int, size: int = 12) -> str:
        """Choose the fewest recorded conversations that represent the most of the traffic, each with its reason.

        size: the most conversations, up to 100.
        """
        path = f"/api/v1/prompts/{prompt_id}/suite-proposals"
        proposal = self.instance.post(path, {"size": size}, harmless=True)
        return texts.page("\n".join(proposal_lines(proposal)), 0)

    def list_findings(self, prompt_id: int, state: str = "", days: int = 30) -> str:
        """List what went wrong in a prompt's recorded conversations, grouped, with ids, states, numbers and trends.

        state: "open", "in_work" or "solved", by default all. days: up to 90.
        """
        path = f"/api/v1/prompts/{prompt_id}/findings"
        answer = self.instance.get(path, days=days, **_given(state=state))
        return texts.lines(list_lines(answer), "Nothing went wrong.")

    def read_finding(self, prompt_id: int, finding_id: str) -> str:
        """Read a finding: its newest conversations, and the test cases and the experiment that were made of them."""
        return texts.page("\n".join(finding_lines(self.instance.get(path_of(prompt_id, finding_id)))), 0)

    def change_finding(
        self, prompt_id: int, finding_id: str, state: str = "", solved_version: str = "", assignee: str | None = None
    ) -> str:
        """Change the state of a finding, or who works on it.

        state: "open", "in_work" or "solved". solved_version: the hash of the version that solved it, by default the
        newest. assignee: the e-mail address of a member, "" for no one.
        """
        changed = self.instance.patch(
            path_of(prompt_id, finding_id), changes_of(state or None, solved_version or None, assignee)
        )
        return finding_line(changed["finding"])

    def list_schedules(self, prompt_id: int) -> str:
        """List the schedules of a prompt with their last runs: experiments and watches that start at fixed times."""
        rows = self.instance.get(f"/api/v1/prompts/{prompt_id}/schedules").listed("schedules")
        listed = (
            "\n    ".join((line, *run_lines(self._runs_of(row["id"]))))
            for row, line in zip(rows, schedule_lines(rows), strict=True)
        )
        return texts.lines(listed, "The prompt has no schedule.")

    def show_watch(self, schedule_id: int) -> str:
        """Show which test cases of a watch pass less often than in its reference, although the version is the same."""
        return texts.lines(watch_lines(self.instance.get(f"/api/v1/schedules/{schedule_id}/reference")), "")

    def _runs_of(self, schedule_id: int) -> list[Any]:
        return [*self.instance.get(f"/api/v1/schedules/{schedule_id}/runs", limit=RUNS_SHOWN).listed("runs")]

    def list_failures(self, prompt_id: int) -> str:
        """List what failed last of a prompt: gates, and replays of its test cases, with their ids."""
        path = f"/api/v1/prompts/{prompt_id}"
        gates = self.instance.get(f"{path}/experiments", verdict="failed", limit=PAGE_SIZE)["experiments"]
        replays = [
            replay
            for status in ("failed", "void", "needs_review", "error")
            for replay in self.instance.get(f"{path}/replays", status=status, limit=PAGE_SIZE)["replays"]
        ]
        lines = [*map(texts.gate_line, gates), *map(texts.replay_line, replays)]
        return texts.lines(lines, "Nothing failed.")

    def read_replay(self, replay_id: int, offset: int = 0) -> str:
        """Read a replay of a test case: for each step what was expected, what came, and why it passed or failed.

        offset: where the answer before this one ended.
        """
        return texts.page(texts.replay(self.instance.get(f"/api/v1/replays/{replay_id}")), offset)

    def run_replay(
        self,
        test_case_id: int,
        variant: str = "",
        faults: list[dict[str, Any]] | None = None,
        wait_s: float = WAIT_MAX_S,
    ) -> str:
        """Replay a test case with the draft, and read the result; it calls models, which costs money.

        When it goes on after wait_s seconds (50 at most), read_replay returns how it ended.
        variant: the name of a variant of the test case. faults: recorded calls that fail on purpose, as
        [{"tool": "refund", "call": 0, "kind": "timeout"}]; call counts from 0, kind is timeout, error, refused, empty
        or garbage.
        """
        body = _given(variant=variant, faults=faults)
        path = f"/api/v1/replays/{self.instance.post(f'/api/v1/test-cases/{test_case_id}/replays', body)['id']}"
        until = time.monotonic() + min(max(wait_s, 0), WAIT_MAX_S)
        while (replay := self.instance.get(path))["status"] in UNFINISHED and time.monotonic() < until:
            time.sleep(LOOK_S)
        return texts.page(texts.replay(replay))

    def run_gate(
        self,
        prompt_id: int,
        text: str = "",
        version: str = "draft",
        baseline: str = "latest",
        detect: float | None = None,
        max_cost: float | None = None,
        candidates: dict[str, str] | None = None,
        wait_s: float = WAIT_MAX_S,
    ) -> str:
        """Replay the prompt's test cases with a candidate and with a baseline, and report in Markdown if it is worse.

        The candidate changes nothing of the prompt. It calls models, which costs money. When it goes on after wait_s
        seconds (50 at most), read_gate returns how it ended.
        text: the candidate's text; without it the version is played unchanged. version: "draft", "latest", or the first
        digits of a commit hash. baseline: "latest", such digits, or "none". detect: the share of failures that must not
        slip through (0.25). max_cost: US dollars. candidates: up to 8 texts by name, instead of text; they are ranked.
        """
        path = f"/api/v1/prompts/{prompt_id}/experiments"
        body = {
            **self._compared(prompt_id, text, version, candidates or {}),
            "baseline": self._baseline(prompt_id, baseline),
            **_given(detect=detect, maxCost=max_cost),
        }
        return self.read_gate(self.instance.post(path, body)["id"], wait_s)

    def read_gate(self, experiment_id: int, wait_s: float = 0, offset: int = 0) -> str:
        """Read as Markdown what a gate found, waiting up to wait_s seconds (50 at most) for its end.

        offset: where the answer before this one ended.
        """
        seen = self.instance.get(f"/api/v1/experiments/{experiment_id}")
        watch = ExperimentWatch(self.instance, min(max(wait_s, 0), WAIT_MAX_S), seen)
        # One that continues, or became unreachable meanwhile, is shown as it was last seen.
        with suppress(CouldNotRun):
            watch.follow(_ignore)
        return texts.page(_gate(self.instance, watch.experiment), offset)

    def cancel_gate(self, experiment_id: int) -> str:
        """Cancel a gate that goes on."""
        self.instance.post(f"/api/v1/experiments/{experiment_id}/cancel", harmless=True)
        return self.read_gate(experiment_id)

    def run_guard_map(
        self,
        prompt_id: int,
        suite: str = "",
        first_line: int = 1,
        last_line: int | None = None,
        max_replays: int | None = None,
        max_cost: float | None = None,
        model_mutants: bool = False,
        wait_s: float = WAIT_MAX_S,
    ) -> str:
        """Show which sentences of the prompt's draft a test case guards: each is removed or changed, and replayed.

        It calls models, which costs money. When it goes on after wait_s seconds (50 at most), read_guard_map returns
        how it ended. suite: the name of a suite, by default all test cases. first_line, last_line: a part of the text.
        max_replays: 2000 by default. max_cost: US dollars. model_mutants: a model proposes more changes first.
        """
        given = _given(suite=suite or None, lastLine=last_line, maxReplays=max_replays, maxCost=max_cost)
        given |= _given(modelMutants=model_mutants or None)
        started = self.instance.post(f"/api/v1/prompts/{prompt_id}/guard-maps", {"firstLine": first_line, **given})
        return self.read_guard_map(started["id"], wait_s)

    def read_guard_map(self, map_id: int, wait_s: float = 0, offset: int = 0) -> str:
        """Read a guard map as Markdown, waiting up to wait_s seconds (50 at most) for its end.

        offset: where the answer before this one ended.
        """
        until = time.monotonic() + min(max(wait_s, 0), WAIT_MAX_S)
        while (seen := self.instance.get(f"/api/v1/guard-maps/{map_id}"))["status"] in UNFINISHED:
            if time.monotonic() > until:
                break
            time.sleep(LOOK_S)
        head = f"Guard map {map_id} of prompt {seen['promptId']}: {seen['status']}"
        return texts.page("\n".join([head, "", *markdown_lines(seen)]), offset)

    def list_guard_offers(self, map_id: int) -> str:
        """List the sentences of a guard map that no test case guards, with the recorded conversations about each."""
        offers = self.instance.get(f"/api/v1/guard-maps/{map_id}/sessions")["sentences"]
        return texts.lines(map(texts.guard_offer, offers), "No sentence lacks a test case.")

    def make_guard_tests(self, map_id: int, sentence: int, session_ids: list[str] | None = None) -> str:
        """Make test cases of recorded conversations for a sentence of a guard map, which list_guard_offers names.

        session_ids: by default the conversations that are offered for it.
        """
        body = {"sentence": sentence, **_given(sessionIds=session_ids)}
        made = self.instance.post(f"/api/v1/guard-maps/{map_id}/test-cases", body, harmless=True)
        left = (f"Left out: {left['sessionId']}: {left['message']}" for left in made["leftOut"])
        return texts.lines((*(f"Test case {id_}" for id_ in made["testCaseIds"]), *left), "None was made.")

    def _prompt(self, prompt_id: int, version: str) -> Any:
        if version == "draft":
            return self.instance.draft(prompt_id)[0]
        return self.instance.get(f"/api/v1/prompts/{prompt_id}/versions/{full_hash(self.instance, prompt_id, version)}")

    def _compared(self, prompt_id: int, text: str, version: str, candidates: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields of an experiment that name what is compared with the baseline."""
        base = version if version == "draft" else full_hash(self.instance, prompt_id, version)
        if candidates:
            if text:
                raise CouldNotRun("Send text or candidates, not both.")
            return {"candidates": [{"name": name, "base": base, "value": value} for name, value in candidates.items()]}
        if text:
            return {"candidate": {"base": base, "value": text}}
        return {"candidate": base if base == "draft" else {"commitHash": base}}

    def _baseline(self, prompt_id: int, name: str) -> Any:
        if name in ("latest", "none"):
            return "latest" if name == "latest" else None
        return {"commitHash": full_hash(self.instance, prompt_id, name)}


def _gate(instance: Remote, experiment: Json) -> str:
    """Return the report, with the ids by which it and its failing replays are read."""
    replays = read_failures(instance, experiment) if experiment["verdict"] else {}
    text = [f"Gate {experiment['id']} of prompt {experiment['promptId']}: {experiment['status']}"]
    if failing := list(_failing(experiment)):
        text.append("Failing replays, for read_replay: " + ", ".join(map(str, failing[:PAGE_SIZE])))
    return "\n\n".join([*text, report.markdown(experiment, replays)])


def _failing(experiment: Json) -> Iterable[int]:
    for case in cases_of(dict(experiment)):
        yield from case["candidate"]["failedReplayIds"]


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, "")}


def _ignore(_experiment: Json) -> None:
    """Do nothing with how far an experiment is: who calls a tool sees its end."""
