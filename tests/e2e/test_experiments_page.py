"""Every command of docs/experiments.md is executed here, in its order."""

from __future__ import annotations

import json
from pathlib import Path

from reprise_formats.experiment_summary import CLASSES

from app.schemas.experiments import StartExperimentSchema
from tests.support.documents import read_document, run_blocks, shell_blocks, shop_variables
from tests.support.http_client import Client

PAGE = read_document("experiments.md")


def test_the_page_starts_an_experiment_and_follows_it_to_its_verdict(client: Client, tmp_path: Path) -> None:
    known = shop_variables(client) | {"REPRISE_URL": client.base_url, "REPRISE_API_KEY": client.api_key}
    start, read, schedule, watch = shell_blocks(PAGE)

    started = json.loads(run_blocks([start], tmp_path, known))
    events = run_blocks([read], tmp_path, {**known, "EXPERIMENT_ID": str(started["id"])})

    assert str(started["promptId"]) == known["PROMPT_ID"]
    assert "event: done" in events
    assert f'"experiments":[{{"id":{started["id"]},' in events.replace(" ", "")
    found = client.get(f"/api/v1/experiments/{started['id']}").json()
    assert (found["verdict"], found["repeats"], found["maxCost"]) == ("passed", {"min": 9, "max": 90}, 0.5)
    scheduled = run_blocks([schedule], tmp_path, known)
    assert "is due next at" in scheduled
    assert "0 3 * * 1-5 Europe/Berlin\tall test cases" in scheduled
    schedule_id = scheduled.partition("Schedule ")[2].partition(" ")[0]
    watched = run_blocks([watch], tmp_path, {**known, "SCHEDULE_ID": schedule_id})
    assert "The next run begins the reference." in watched


def test_the_page_names_every_field_that_starts_one_and_every_class() -> None:
    fields = [field.data_key or name for name, field in StartExperimentSchema().fields.items()]

    assert [name for name in [*fields, *CLASSES] if f"`{name}`" not in PAGE] == []
