"""The page of a watch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from app.experiments.behaviour_watch import AnswerChange, ReplayShare, WatchedBehaviour
from app.experiments.drift import Counts, DriftState, Watched
from app.models import schedules
from app.models.queries import insert_row, update_rows
from app.models.schedules import CaseCounts, VendorWatch, WatchedCase, WatchedRun
from tests.integration.replays.test_schedules_api import make, with_case
from tests.integration.web.conftest import Browser
from tests.support.world import World

BEFORE, NOW = "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"
START = datetime(2026, 11, 1, 3, tzinfo=UTC)


CHANGE = AnswerChange("longer", "", 430, ReplayShare(12, 300), ReplayShare(9, 10), before=340, after=520, run=2**40)


def watched(
    world: World, *, state: DriftState, snapshot: str = NOW, changes: tuple[AnswerChange, ...] = ()
) -> dict[str, Any]:
    """Make a watch of one test case with 20 runs, of which the last two have this state."""
    prompt_id = with_case(world)
    schedule = make(world, prompt_id, kind="watch")
    (case,) = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    since = Counts(12, 8) if state == "dropped" else Counts()
    one = WatchedCase(case["id"], 0, 1, Watched(Counts(178, 2), since), state, WatchedBehaviour(changes=changes))
    gone = WatchedCase(2**40, 3, 1, Watched(Counts(180, 0)), "steady")
    watch = VendorWatch(START, "content", "4f53a0b1" + "0" * 32, 1, (gone, one), (BEFORE,))
    owner = {"project_id": world.project_id, "prompt_id": prompt_id}
    with world.container.database.write() as connection:
        update_rows(connection, schedules.schedules, {"id": schedule["id"]}, watch=watch)
        for day in range(20):
            is_late = day > 17 and state == "dropped"
            counts = CaseCounts(case["id"], 0, Counts(6, 4) if is_late else Counts(10), state if is_late else "steady")
            run = WatchedRun((counts,), (snapshot if is_late else BEFORE,))
            when = {"due_at": START + timedelta(days=day), "created_at": START, "missed": 0}
            served = {"schedule_id": schedule["id"], "experiment_id": 2**40, "watched": run}
            insert_row(connection, schedules.schedule_runs, **owner, **when, **served)
    return schedule


def test_a_drop_is_shown_with_the_models_before_and_now(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/schedules/{watched(world, state='dropped')['id']}")
    assert "1 test case passed less often than in the reference" in admin.page
    assert f"<code>{BEFORE}</code> before the drop, and reports <code>{NOW}</code> now" in admin.page
    assert "178 of 180" in admin.page
    assert "12 of 20" in admin.page
    assert admin.page.index(">dropped</span>") < admin.page.index(">steady</span>")
    assert ">deleted</span>" in admin.page
    assert "variant 3" in admin.page


def test_a_drop_with_the_same_reported_model_names_it(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/schedules/{watched(world, state='dropped', snapshot=BEFORE)['id']}")
    assert f"The vendor reports <code>{BEFORE}</code>, as before." in admin.page


def test_a_steady_watch_shows_no_alarm(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/schedules/{watched(world, state='steady')['id']}")
    assert "No test case has passed less often than in the reference" in admin.page
    assert 'role="alert"' not in admin.page


def test_a_warning_about_answers_is_shown_in_words_and_is_no_alarm(world: World, admin: Browser) -> None:
    schedule = watched(world, state="steady", changes=(CHANGE,))
    admin.open(f"{admin.base}/schedules/{schedule['id']}")
    assert "Answers of 1 test case differ from the reference." in admin.page
    assert "It has not been checked whether that matters" in admin.page
    text = "Answers are longer, about 340 → 520 characters: more than 430 in 9 of 10 replays, "
    text += "in the reference in 12 of 300."
    assert text in admin.page
    assert f"/experiments/{2**40}" in admin.page
    assert 'role="alert"' not in admin.page
    assert "No test case has passed less often than in the reference" in admin.page
    named = world.get(f"/api/v1/schedules/{schedule['id']}/reference").json["testCases"]
    assert [change["text"] for case in named for change in case["changes"]] == [text]


def test_a_person_begins_a_new_reference_on_the_page(world: World, admin: Browser) -> None:
    schedule = watched(world, state="dropped")
    path = f"{admin.base}/schedules/{schedule['id']}"
    admin.open(f"{path}/reference")
    admin.send(f"{path}/reference")
    admin.open(path)
    assert "The next run begins the reference" in admin.page
    assert world.get(f"/api/v1/schedules/{schedule['id']}/reference").json["since"] is None
