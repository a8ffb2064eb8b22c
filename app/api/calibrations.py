"""Calibrations of test cases: start one, read it, cancel it, accept its proposals."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.schemas import calibrations as schemas
from app.schemas.cases import TestCaseSchema
from app.services.replays.calibrations import CalibrationView
from app.services.replays.cases import CaseView


class TestCaseCalibrations(Resource, POST="run"):
    @operation(
        "Replay the newest version of the prompt several times to see whether the test case is reliable",
        body=schemas.CalibrateSchema,
        body_optional=True,
        answers={202: schemas.AcceptedCalibration},
        location="/api/v1/calibrations/{id}",
        errors=(409,),
    )
    def on_post(self, key: ApiKey, test_case_id: int, command: Command) -> CalibrationView:
        view = self.services.calibrations.start(project_id=key.project_id, test_case_id=test_case_id, **command)
        self.container.replay_delivery.send(replay.id for replay in view.replays)
        return view


class CalibrationResource(Resource, GET="read"):
    @operation("One calibration with the rate of each step", answers={200: schemas.CalibrationSchema})
    def on_get(self, key: ApiKey, calibration_id: int) -> CalibrationView:
        view = self.services.calibrations.get(project_id=key.project_id, calibration_id=calibration_id)
        # The worker of the last replay may have died before it concluded the calibration.
        self.container.replay_delivery.send(self.services.calibrations.left_behind(view))
        return view


class CalibrationCancellation(Resource, POST="run"):
    """Keys that may start calibrations may cancel them."""

    @operation("Cancel the replays of a calibration", answers={200: schemas.CalibrationSchema}, errors=(409,))
    def on_post(self, key: ApiKey, calibration_id: int) -> CalibrationView:
        view = self.services.calibrations.cancel(project_id=key.project_id, calibration_id=calibration_id)
        # A worker compares the results of the replays that were played.
        self.container.replay_delivery.send([view.replays[-1].id] if view.to_conclude else [])
        return view


class AcceptedProposals(Resource, POST="write"):
    @operation(
        "Accept a calibration's proposals for the checks of the test case's steps",
        body=schemas.AcceptSchema,
        body_optional=True,
        answers={200: TestCaseSchema},
        errors=(409,),
    )
    def on_post(self, key: ApiKey, calibration_id: int, command: Command) -> CaseView:
        row = self.services.calibrations.accept(
            project_id=key.project_id, calibration_id=calibration_id, **command, actor=key.actor
        )
        return self.services.test_cases.view(row)
