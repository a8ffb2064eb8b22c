"""Chooses the model that judges the replays of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection

from app.errors import Invalid, ProviderError
from app.models.language_models import LanguageModel
from app.replay.case_types import Judging
from app.replay.cases import load_case, needs_judge
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.replays.candidates import CandidateContent
from app.services.replays.frozen import FrozenCase, read_documents

# A test case that needs a judge has one of these as a whole text; within a text quotes are escaped.
_MARKS = ('"ai"', '"simulate"', '"always"')
PARSED_CHARACTERS = 4 * 1024 * 1024
"""Characters of the test cases that are parsed to find whether one needs a judge."""


@dataclass(frozen=True, slots=True)
class JudgeChoice:
    """The name of the model that judges, by default the candidate's, and whether one has to or may judge."""

    name: str | None = None
    judging: Judging = "auto"


def choose_judge(
    connection: Connection,
    models: ModelService,
    credentials: CredentialService,
    candidate: CandidateContent,
    cases: Sequence[FrozenCase],
    choice: JudgeChoice,
) -> LanguageModel | None:
    """Return the named model, else the candidate's model if it can judge; none if that was chosen.

    Raises `Invalid` if the named model can't judge, or if a judge is needed and there is none.
    """
    default, organization_id = candidate.content.model, candidate.head.organization_id
    if choice.judging == "never":
        if choice.name is not None:
            raise Invalid("judgeModelName: A model is named although judge is never.")
        return None
    if choice.name is not None:
        named = models.named(connection, organization_id=organization_id, name=choice.name, field="judgeModelName")
        if problem := why_not(credentials, organization_id, named):
            raise Invalid(f"judgeModelName: {problem}")
        return named
    problem = why_not(credentials, organization_id, default)
    if problem is None:
        return default
    if choice.judging == "always":
        raise Invalid(f"judge: The prompt's model can't judge, and no other is named as judgeModelName. {problem}")
    _require_no_judge(connection, cases)
    return None


def why_not(credentials: CredentialService, organization_id: int, model: LanguageModel) -> str | None:
    """Return the reason why a model can't judge, None if it can."""
    if model.vendor == "BUILTIN":
        return f"{model.name} is a builtin model and can't judge; name a vendor's."
    try:
        credentials.find(organization_id, model.vendor, base_url=model.base_url)
    except ProviderError as missing:
        return str(missing)
    return None


def _require_no_judge(connection: Connection, cases: Iterable[FrozenCase]) -> None:
    """Raise `Invalid`, with advice, if a test case needs a judge model, or too many have to be parsed to know it."""
    ids, left = list(dict.fromkeys(case.test_case_id for case in cases)), PARSED_CHARACTERS
    for stored in read_documents(connection, ids):
        for test_case_id, document in stored.items():
            if not any(mark in document for mark in _MARKS):
                continue
            left -= len(document)
            if left < 0:
                raise Invalid(
                    "judge: The prompt's model has no credential, and the test cases are too long to find whether they "
                    "need a model that judges. Name one as judgeModelName, choose never, or name fewer test cases."
                )
            if needs_judge(load_case(orjson.loads(document))):
                raise Invalid(
                    f"judge: Test case {test_case_id} needs a model that judges, and the prompt's has no credential. "
                    "Set one for its vendor, name another model as judgeModelName, or change the test case's checks."
                )
