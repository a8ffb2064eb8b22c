"""Work that no request waits for, of which every crash point is tried: replays, experiments, erasures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from app.models import schema
from app.models.replays import UNFINISHED
from app.models.webhooks import WebhookEvent
from app.services.experiments.request import NewExperiment
from app.services.replays.claims import ReplaySweeper
from app.services.webhooks.service import NewWebhook
from app.work.sweeper import Resending
from tests.crash.operations import TURNS, Operation, State, audited, new_prompt, store
from tests.support.conversations import export
from tests.support.readable import bodies_of
from tests.support.sweeping import Clock, sweep_for
from tests.support.uncompressed import pack
from tests.support.world import World

BEGAN_NS = 1_760_000_000_000_000_000
ROUNDS = 6
"""Rounds of the clock until all work must have ended."""
EMPTIED = ("spans", "turns", "sessions", "test_cases", "runs", "replays", "experiments")
"""Tables of which an erasure removes the rows of a prompt."""


@dataclass(frozen=True)
class Work:
    """Work of the victim: a name of `PERFORMED`, and the ids that it is about."""

    name: str
    ids: tuple[int, ...]

    def sent_by(self, _world: World) -> dict[str, Any]:
        return {"work": self.name, "ids": self.ids}


PERFORMED: Mapping[str, Callable[..., object]] = {
    "play": lambda container, replay_id: container.replay_delivery.actor.fn(replay_id),
    "advance": lambda container, experiment_id: container.experiment_delivery.advance(experiment_id),
    "erase": lambda container, project_id, prompt_id: container.services.deletion.erase_prompt(
        project_id=project_id, prompt_id=prompt_id
    ),
    "pack": lambda container, project_id: list(container.services.span_packer.pack_project(project_id)),
    "upgrade": lambda container: schema.upgrade(container.database),
}


def _conversation(world: World) -> Work:
    store(world, export(new_prompt(world), "c", TURNS, start_ns=BEGAN_NS))
    return Work("pack", (world.project_id,))


def _packed(world: World) -> State:
    bodies = bodies_of(world, world.project_id)
    return {"bodies": len(bodies), "blocks": world.count("span_blocks"), "turns": world.count("turns")}


def _prompt_with_case(world: World) -> tuple[int, int]:
    """Return the ids of a prompt with a changed draft, and of its test case, which the builtin model passes."""
    prompt_id = new_prompt(world)
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Two."}).status_code < 300
    expected = {"question": "Ping", "expectedAnswer": "Ping"}
    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=expected)
    assert case.status_code == 201, case.text
    return prompt_id, case.json["id"]


def _replay(world: World) -> Work:
    _, case_id = _prompt_with_case(world)
    row = world.container.services.replays.start(project_id=world.project_id, test_case_id=case_id)
    return Work("play", (row.id,))


def _new_experiment(world: World) -> int:
    """Return the id of an experiment with an audited judge, and without replays yet."""
    prompt_id, _ = _prompt_with_case(world)
    services, key = world.container.services, {"project_id": world.project_id}
    services.webhooks.create(**key, new=NewWebhook("http://127.0.0.1/", (WebhookEvent.EXPERIMENT_FINISHED,)))
    new = NewExperiment(repeats_min=2, repeats_max=3, reuse=False)
    row = services.experiments.start(**key, prompt_id=prompt_id, new=new)
    services.judge_audit_runner.run(row.design["auditId"])
    return row.id


def _first_advance(world: World) -> Work:
    return Work("advance", (_new_experiment(world),))


def _played(world: World) -> tuple[int, int]:
    """Return the id of an experiment with one replay that was not played yet, and the id of that replay."""
    experiment_id = _new_experiment(world)
    *others, last = world.container.services.experiment_advancer.advance(experiment_id)
    for replay_id in others:
        world.container.services.replay_player.play(replay_id)
    return experiment_id, last


def _last_replay(world: World) -> Work:
    _, replay_id = _played(world)
    return Work("play", (replay_id,))


def _last_advance(world: World) -> Work:
    experiment_id, replay_id = _played(world)
    world.container.services.replay_player.play(replay_id)
    return Work("advance", (experiment_id,))


def _erasure(world: World) -> Work:
    prompt_id, case_id = _prompt_with_case(world)
    assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "second"}).status_code < 300
    store(world, export(prompt_id, "c", TURNS, start_ns=BEGAN_NS))
    services = world.container.services
    replay = services.replays.start(project_id=world.project_id, test_case_id=case_id)
    services.replay_player.play(replay.id)
    return Work("erase", (world.project_id, prompt_id))


def _rows(world: World, statement: str) -> list[list[Any]]:
    with world.container.database.read() as connection:
        return [list(row) for row in connection.execute(text(statement), {"id": world.project_id})]


def _ended(status: str) -> str:
    return "open" if status in UNFINISHED else status


def _replays(world: World) -> State:
    rows = _rows(world, "SELECT status, result IS NOT NULL FROM replays WHERE project_id = :id ORDER BY id")
    return {"replays": [[_ended(status), bool(has_result)] for status, has_result in rows]}


def _experiments(world: World) -> State:
    experiments = "SELECT status, verdict FROM experiments WHERE project_id = :id"
    links = (
        "SELECT arm, ordinal FROM experiment_replays JOIN experiments ON experiments.id = experiment_id"
        " WHERE project_id = :id ORDER BY arm, ordinal"
    )
    return _replays(world) | {
        "experiments": [[_ended(status), verdict] for status, verdict in _rows(world, experiments)],
        "links": _rows(world, links),
        "events": world.count("webhook_deliveries"),
    }


def _erased(world: World) -> State:
    return {
        "prompts": len(world.get("/api/v1/prompts").json["prompts"]),
        "sessions": len(world.get("/api/v1/sessions").json["sessions"]),
        "rows": {table: world.count(table) for table in EMPTIED},
        "audited": audited(world).count("prompt.erased"),
    }


def _play_all(world: World) -> None:
    """Do what the clock and the workers do, without waiting, until all replays and experiments have ended."""
    of, clock = world.container, Clock()
    sweeper = ReplaySweeper(
        database=of.database, now=of.now, metrics=of.metrics, monotonic=clock, resending=Resending()
    )
    for _ in range(ROUNDS):
        of.experiment_delivery.sweep()
        for replay_ids in sweep_for(sweeper, clock, ReplaySweeper.stale_s).values():
            for replay_id in replay_ids:
                of.replay_delivery.actor.fn(replay_id)


def _sweep_erasures(world: World) -> None:
    for _ in range(ROUNDS):
        world.container.services.deletion.sweep()


WORKS = {
    "a replay": Operation(_replay, _replays, settle=_play_all),
    "an experiment's first advance": Operation(_first_advance, _experiments, settle=_play_all),
    "an experiment's last replay": Operation(_last_replay, _experiments, settle=_play_all, is_whole=False),
    "an experiment's end": Operation(_last_advance, _experiments, settle=_play_all),
    "packing": Operation(_conversation, _packed, settle=pack, is_accepted=False),
    "an erasure": Operation(_erasure, _erased, settle=_sweep_erasures, is_whole=False, is_accepted=False),
}
