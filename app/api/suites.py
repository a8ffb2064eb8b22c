"""Suites of test cases: propose and accept them, change them, read their coverage."""

from __future__ import annotations

from collections.abc import Sequence

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.suites import SuiteRow
from app.schemas import suites as schemas
from app.services.suites.accepting import AcceptedSuite
from app.services.suites.coverage import SuiteCoverage
from app.services.suites.proposing import ProposalView, SuiteQuestion
from app.services.suites.service import SuiteView


class SuiteProposals(Resource, POST="read"):
    @operation(
        "Propose the fewest sessions that represent the most of the traffic",
        body=schemas.ProposeSuiteSchema,
        body_optional=True,
        answers={200: schemas.SuiteProposalSchema},
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: SuiteQuestion) -> ProposalView:
        return self.services.suite_proposer.propose(project_id=key.project_id, prompt_id=prompt_id, question=command)


class SuiteAcceptances(Resource, POST="write"):
    @operation(
        "Make test cases of proposed sessions, and add them to a suite",
        body=schemas.AcceptSuiteSchema,
        answers={200: schemas.AcceptedSuiteSchema},
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: Command) -> AcceptedSuite:
        return self.services.suite_acceptance.accept(
            project_id=key.project_id, prompt_id=prompt_id, **command, actor=key.actor
        )


class PromptSuites(Resource, GET="read", POST="write"):
    @operation("The suites of the prompt, by name", answers={200: schemas.Suites})
    def on_get(self, key: ApiKey, prompt_id: int) -> Sequence[SuiteRow]:
        return self.services.suites.list(project_id=key.project_id, prompt_id=prompt_id)

    @operation(
        "Make a suite",
        body=schemas.NewSuiteSchema,
        answers={201: schemas.SuiteSchema},
        location="/api/v1/suites/{id}",
        errors=(409,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: Command) -> SuiteView:
        return self.services.suites.create(project_id=key.project_id, prompt_id=prompt_id, **command, actor=key.actor)


class SuiteResource(Resource, GET="read", PATCH="write", DELETE="write"):
    @operation("One suite with its test cases", answers={200: schemas.SuiteSchema})
    def on_get(self, key: ApiKey, suite_id: int) -> SuiteView:
        return self.services.suites.get(project_id=key.project_id, suite_id=suite_id)

    @operation("Rename a suite", body=schemas.SuiteChangeSchema, answers={200: schemas.SuiteSchema}, errors=(409,))
    def on_patch(self, key: ApiKey, suite_id: int, command: Command) -> SuiteView:
        return self.services.suites.rename(project_id=key.project_id, suite_id=suite_id, **command, actor=key.actor)

    @operation("Delete a suite; its test cases stay", answers={204: None})
    def on_delete(self, key: ApiKey, suite_id: int) -> None:
        self.services.suites.delete(project_id=key.project_id, suite_id=suite_id, actor=key.actor)


class SuiteCases(Resource, POST="write"):
    @operation("Add test cases to a suite", body=schemas.SuiteCasesSchema, answers={200: schemas.SuiteSchema})
    def on_post(self, key: ApiKey, suite_id: int, command: Command) -> SuiteView:
        return self.services.suites.add(project_id=key.project_id, suite_id=suite_id, **command, actor=key.actor)


class SuiteCaseResource(Resource, DELETE="write"):
    @operation("Remove a test case from a suite; the test case stays", answers={204: None})
    def on_delete(self, key: ApiKey, suite_id: int, test_case_id: int) -> None:
        self.services.suites.remove(
            project_id=key.project_id, suite_id=suite_id, test_case_id=test_case_id, actor=key.actor
        )


class SuiteCalibrations(Resource, POST="run"):
    @operation(
        "Calibrate test cases of a suite, up to 20 at once",
        body=schemas.CalibrateSuiteSchema,
        location="/api/v1/suites/{suite_id}",
        body_optional=True,
        answers={202: schemas.SuiteSchema},
        errors=(409,),
    )
    def on_post(self, key: ApiKey, suite_id: int, command: Command) -> SuiteView:
        calibrated = self.services.suite_acceptance.calibrate(project_id=key.project_id, suite_id=suite_id, **command)
        self.container.replay_delivery.send(calibrated.replay_ids)
        return calibrated.view


class SuiteCoverageResource(Resource, GET="read"):
    @operation(
        "How much of the traffic the suite represents, week by week, what it lacks and what is obsolete",
        answers={200: schemas.SuiteCoverageSchema},
    )
    def on_get(self, key: ApiKey, suite_id: int) -> SuiteCoverage:
        return self.services.coverage.read(project_id=key.project_id, suite_id=suite_id)
