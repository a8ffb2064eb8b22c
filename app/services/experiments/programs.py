"""Experiments over a program: gives it the replays that it has to play, and ends what no program plays any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, require
from app.models import experiments, program_replays, replays
from app.models.audit_log import Actor
from app.models.program_replays import ToolsMode
from app.services.experiments.advance import ExperimentAdvancer
from app.services.replays.programs import ProgramService, StartedProgram
from app.timestamps import Now

UNSEEN_FOR = timedelta(hours=1)
ABANDONED_PER_SWEEP = 100
ABANDONED = "Its program asked for no replay within an hour."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExperiments:
    database: Database
    now: Now
    programs: ProgramService
    advancer: ExperimentAdvancer

    def next_replay(
        self, *, project_id: int, experiment_id: int, tools: ToolsMode, offline: bool, actor: Actor
    ) -> StartedProgram | None:
        """Begin the next replay that awaits the program; None if none does now.

        Copies of the program that ask at the same time get different replays. Raises `NotFound`, and `Conflict` for an
        experiment over the prompt's own text.
        """

        def work(connection: Connection) -> StartedProgram | None:
            owner = {"project_id": project_id, "experiment_id": experiment_id}
            stored = experiments.find_experiment(connection, project_id=project_id, experiment_id=experiment_id)
            experiment = require(stored, "There is no such experiment.")
            if experiment.candidate_external is None:
                raise Conflict("The candidate is the prompt's own text: no program plays its replays.")
            while (replay_id := program_replays.first_awaiting(connection, **owner)) is not None:
                (row,) = replays.get_replays(connection, ids=[replay_id])
                if program_replays.claim_awaiting(connection, row=row, now=self.now()):
                    token = self.programs.admit(connection, row, replay_id, tools=tools, offline=offline, actor=actor)
                    return StartedProgram(row, token)
            return None

        return self.database.retrying(work)

    def sweep(self) -> None:
        """Cancel the experiments of programs that asked for nothing, and played nothing, for an hour."""
        with self.database.read() as connection:
            before = self.now() - UNSEEN_FOR
            abandoned = program_replays.list_abandoned(connection, before=before, limit=ABANDONED_PER_SWEEP)
        for experiment_id in abandoned:
            self.advancer.cancel(experiment_id, reason=ABANDONED)
