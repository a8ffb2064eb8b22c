"""A guarded label moves only to a version that passed an experiment against the one that the label points to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from falcon.testing import Result
from sqlalchemy import update

from app.models import prompt_versions
from app.models.experiments import experiments
from app.models.queries import insert_row
from tests.integration.prompts.test_labels import moved, new_prompt, put, with_scopes
from tests.support.world import World, new_world

EVIDENCE: dict[str, Any] = {
    "design": {"repeats": {"min": 9, "max": 90}, "detect": 0.25, "alpha": 0.05, "minJudgeCaught": 0.8},
    "summary": {"sighted": 1},
    "cases": [],
}


@pytest.fixture
def prompt(world: World) -> tuple[str, list[str]]:
    """Make a prompt of three versions, with the guarded label `production` on the first; return its path and hashes."""
    path, hashes = new_prompt(world)
    moved(world, path, hashes[0], guarded=True)
    return path, hashes


def experiment(
    world: World,
    path: str,
    candidate: str,
    baseline: str | None,
    *,
    status: str = "finished",
    verdict: str | None = "passed",
    **columns: Any,
) -> int:
    """Store an experiment of two versions with the default evidence; returns its id."""
    prompt_id, now = int(path.rpartition("/")[2]), world.container.now()
    with world.container.database.write() as connection:

        def snapshot(commit_hash: str) -> int:
            row = prompt_versions.find_version(connection, prompt_id=prompt_id, commit_hash=commit_hash)
            assert row is not None
            values = {
                "prompt_id": prompt_id,
                "fingerprint": prompt_versions.content_hash_of(
                    connection, prompt_id=prompt_id, commit_hash=commit_hash
                ),
                "value": row.value,
                "language_model_id": row.language_model_id,
                "config": row.config,
                "placeholders": row.placeholders,
                "instruction_format": "XML",
            }
            return prompt_versions.put_snapshot(connection, values=values)

        return insert_row(
            connection,
            experiments,
            project_id=world.project_id,
            prompt_id=prompt_id,
            status=status,
            verdict=verdict,
            candidate_kind="version",
            candidate_commit=candidate,
            candidate_snapshot_id=snapshot(candidate),
            baseline_commit=baseline,
            baseline_snapshot_id=None if baseline is None else snapshot(baseline),
            models=[],
            created_at=now,
            **{"finished_at": now, **EVIDENCE, **columns},
        )


def refused(answer: Result, status: int, word: str) -> None:
    assert (answer.status_code, word in answer.json["error"]) == (status, True), answer.text


def test_the_first_version_of_a_guarded_label_needs_no_experiment(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    label = world.get(f"{path}/labels/production").json
    assert (label["guarded"], label["commitHash"]) == (True, hashes[0])


@pytest.mark.parametrize("body", [{}, {"share": 0.1}], ids=["whole", "split"])
def test_a_move_without_an_experiment_is_refused(
    world: World, prompt: tuple[str, list[str]], body: dict[str, Any]
) -> None:
    path, hashes = prompt
    before = world.get(f"{path}/labels").json

    refused(put(world, path, hashes[1], **body), 409, "experimentId")

    assert world.get(f"{path}/labels").json == before
    assert moved(world, path, hashes[0]) == before["labels"][0]


def test_versions_without_a_stored_hash_of_their_content_are_not_the_same(
    world: World, prompt: tuple[str, list[str]]
) -> None:
    path, hashes = prompt
    without_baseline = experiment(world, path, hashes[1], None)
    with world.container.database.write() as connection:
        versions = prompt_versions.prompt_versions
        connection.execute(update(versions).where(versions.c.commit_hash.in_(hashes)).values(content_hash=""))

    refused(put(world, path, hashes[1]), 409, "send experimentId")
    refused(put(world, path, hashes[1], experimentId=without_baseline), 409, "its baseline is not version")


@pytest.mark.parametrize("body", [{}, {"share": 0.1}], ids=["whole", "split"])
def test_a_passed_experiment_moves_the_label(world: World, prompt: tuple[str, list[str]], body: dict[str, Any]) -> None:
    path, hashes = prompt
    passed = experiment(world, path, hashes[1], hashes[0])

    label = moved(world, path, hashes[1], experimentId=passed, **body)

    assert label["guarded"]
    assert label["split"] == ({"commitHash": hashes[1], "share": 0.1} if body else None)
    assert label["commitHash"] == hashes[0 if body else 1]


@pytest.mark.parametrize(
    ("candidate", "baseline", "status", "verdict"),
    [
        (1, 0, "finished", "failed"),
        (1, 0, "finished", "inconclusive"),
        (1, 0, "running", None),
        (1, 0, "cancelled", "passed"),
        (2, 0, "finished", "passed"),
        (1, 2, "finished", "passed"),
        (0, 1, "finished", "passed"),
        (1, None, "finished", "passed"),
    ],
)
def test_another_experiment_than_a_passed_one_of_both_versions_is_refused(
    world: World, prompt: tuple[str, list[str]], candidate: int, baseline: int | None, status: str, verdict: str | None
) -> None:
    path, hashes = prompt
    against = None if baseline is None else hashes[baseline]
    made = experiment(world, path, hashes[candidate], against, status=status, verdict=verdict)

    refused(put(world, path, hashes[1], experimentId=made), 409, "experimentId")
    assert world.get(f"{path}/labels/production").json["commitHash"] == hashes[0]


def test_an_experiment_of_another_prompt_is_not_found(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    other, _ = new_prompt(world)
    stranger = new_world(world.container)
    elsewhere, _ = new_prompt(stranger)
    foreign = [
        experiment(world, other, hashes[1], hashes[0]),
        experiment(stranger, elsewhere, hashes[1], hashes[0]),
        2**62,
    ]

    answers = [put(world, path, hashes[1], experimentId=made) for made in foreign]
    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[-1].text)}
    assert put(world, path, hashes[0], "unguarded", experimentId=foreign[0]).status_code == 404


def test_moving_back_needs_nothing(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    moved(world, path, hashes[1], experimentId=experiment(world, path, hashes[1], hashes[0]))
    moved(world, path, hashes[2], experimentId=experiment(world, path, hashes[2], hashes[1]))

    for back in (hashes[0], hashes[2], hashes[1]):
        assert moved(world, path, back)["commitHash"] == back


def test_a_version_that_had_only_a_share_is_none_to_move_back_to(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    made = experiment(world, path, hashes[1], hashes[0])
    moved(world, path, hashes[1], share=0.5, experimentId=made)
    moved(world, path, hashes[0])

    refused(put(world, path, hashes[1]), 409, "experimentId")


def test_a_share_shrinks_without_an_experiment_and_grows_with_one(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    made = experiment(world, path, hashes[1], hashes[0])
    moved(world, path, hashes[1], share=0.2, experimentId=made)

    assert moved(world, path, hashes[1], share=0.1)["split"]["share"] == 0.1
    refused(put(world, path, hashes[1], share=0.3), 409, "experimentId")
    assert moved(world, path, hashes[1], share=0.3, experimentId=made)["split"]["share"] == 0.3
    refused(put(world, path, hashes[2], share=0.1), 409, "experimentId")


def test_only_an_admin_overrides_the_guard_and_gives_a_reason(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    writer = with_scopes(world, "read", "write", "run", "ingest")

    refused(put(writer, path, hashes[1], override="It is on fire."), 403, "admin")
    refused(put(writer, path, hashes[1], guarded=False), 403, "admin")
    refused(put(writer, path, hashes[0], guarded=False), 403, "admin")
    assert writer.delete(f"{path}/labels/production").status_code == 403
    assert world.get(f"{path}/labels/production").json["commitHash"] == hashes[0]

    label = moved(world, path, hashes[1], override="It is on fire.")
    assert (label["commitHash"], label["guarded"]) == (hashes[1], True)


def test_an_admin_switches_the_guard_off(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt

    assert not moved(world, path, hashes[0], guarded=False)["guarded"]

    writer = with_scopes(world, "read", "write")
    assert moved(writer, path, hashes[2], guarded=False)["commitHash"] == hashes[2]
    assert writer.delete(f"{path}/labels/production").status_code == 204


def test_a_guard_that_is_switched_on_holds_from_the_next_move_on(world: World) -> None:
    path, hashes = new_prompt(world)
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], guarded=True)

    refused(put(world, path, hashes[2]), 409, "experimentId")
    assert moved(world, path, hashes[0])["guarded"]


def test_a_label_that_is_deleted_and_made_again_has_no_past(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    assert world.delete(f"{path}/labels/production").status_code == 204
    moved(world, path, hashes[1], guarded=True)

    refused(put(world, path, hashes[0]), 409, "experimentId")


def test_each_move_is_in_the_audit_log_with_the_reason_of_an_override(
    world: World, prompt: tuple[str, list[str]]
) -> None:
    path, hashes = prompt
    made = experiment(world, path, hashes[1], hashes[0])
    moved(world, path, hashes[1], share=0.25, experimentId=made)
    moved(world, path, hashes[1], share=0.25, experimentId=made)
    put(world, path, hashes[2])
    moved(world, path, hashes[2], override="It is on fire.")
    moved(world, path, hashes[2], guarded=False)
    world.delete(f"{path}/labels/production")

    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    entries = [entry for entry in reversed(page.entries) if entry.action.startswith("label.")]
    short = [commit_hash[:8] for commit_hash in hashes]
    split = f"{short[0]}, {short[1]} for 25 % of callers"
    label = {"label": "production"}
    assert [(entry.action, entry.details) for entry in entries] == [
        ("label.moved", label | {"old": "nothing", "new": short[0], "guarded": True}),
        ("label.moved", label | {"old": short[0], "new": split, "experiment": made}),
        ("label.moved", label | {"old": split, "new": short[2], "reason": "It is on fire."}),
        ("label.changed", label | {"old": short[2], "new": short[2], "guarded": False}),
        ("label.deleted", label | {"old": short[2]}),
    ]
    assert {(entry.subject, entry.actor_name, entry.project_id) for entry in entries} == {
        ("Concierge", "test", world.project_id)
    }


def test_an_experiment_is_evidence_for_seven_days(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    now = world.container.now()
    old = experiment(world, path, hashes[1], hashes[0], finished_at=now - timedelta(days=7, minutes=1))
    recent = experiment(world, path, hashes[1], hashes[0], finished_at=now - timedelta(days=6, hours=23))

    refused(put(world, path, hashes[1], experimentId=old), 409, "and may be 7 days old")
    assert moved(world, path, hashes[1], experimentId=recent)["commitHash"] == hashes[1]


def test_all_that_an_experiment_lacks_is_named_at_once(world: World, prompt: tuple[str, list[str]]) -> None:
    path, hashes = prompt
    weak = {"repeats": {"min": 1, "max": 1}, "detect": 0.5, "alpha": 0.01, "minJudgeCaught": 0.5}
    cases = [{"testCaseId": 1, "snapshotId": 1}] * 3
    made = experiment(
        world, path, hashes[2], hashes[1], verdict="inconclusive", design=weak, summary={"sighted": 1}, cases=cases
    )

    answer = put(world, path, hashes[1], experimentId=made)

    assert (answer.status_code, answer.json["error"]) == (
        409,
        "experimentId: The label production is guarded, and the experiment is no evidence: "
        "it is inconclusive, and must have passed; "
        f"its candidate has other content than version {hashes[1][:8]}; "
        f"its baseline is not version {hashes[0][:8]}, to which the label points now; "
        "its repeats.min is 1, and at least 9 are required; its detect is 0.5, and at most 0.25 is required; "
        "its alpha is 0.01, and at least 0.05 is required; "
        "only 1 of its 3 test cases can show a drop, and 50% of them, and one at least, must; "
        "its minJudgeCaught is 0.5, and at least 0.8 is required.",
    )


@pytest.mark.parametrize(
    ("summary", "word"),
    [({}, "does not show which test cases can notice a drop"), ({"sighted": 0}, "only 0 of its 0 test cases")],
)
def test_an_experiment_that_could_notice_nothing_is_no_evidence(
    world: World, prompt: tuple[str, list[str]], summary: dict[str, Any], word: str
) -> None:
    path, hashes = prompt
    made = experiment(world, path, hashes[1], hashes[0], summary=summary)

    refused(put(world, path, hashes[1], experimentId=made), 409, word)


def test_a_version_with_the_content_of_the_present_one_needs_no_experiment(
    world: World, prompt: tuple[str, list[str]]
) -> None:
    path, hashes = prompt
    first = world.get(f"{path}?commitHash={hashes[0]}").json["value"]
    assert world.patch(path, json={"value": first}).status_code == 200
    same = world.post(f"{path}/commit").json["commitHash"]

    assert same != hashes[0]
    assert moved(world, path, same)["commitHash"] == same


def test_of_two_moves_at_once_only_one_has_evidence(world: World, prompt: tuple[str, list[str]]) -> None:
    """Both experiments have the baseline that the label pointed to before; the later move finds another one."""
    path, hashes = prompt
    made = {version: experiment(world, path, version, hashes[0]) for version in hashes[1:]}

    with ThreadPoolExecutor(2) as pool:
        answers = [*pool.map(lambda version: put(world, path, version, experimentId=made[version]), made)]

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (lost,) = (answer for answer in answers if answer.status_code == 409)
    won = world.get(f"{path}/labels/production").json["commitHash"]
    assert f"its baseline is not version {won[:8]}, to which the label points now" in lost.json["error"]
