"""The features of a test case: the fingerprint that a session like it would have."""

from __future__ import annotations

import msgspec

from app.replay.case_types import TestCase
from app.sessions.facts import cut_name
from app.suites.fingerprints import EDITION, CalledTool, Fingerprint, dump, make
from app.suites.refusals import is_refusal
from app.values.structs import decoder


class CaseFeatures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fingerprint of a test case; `corrected` if a person changed what was recorded.

    `document` is the SHA-256 of the document that they were made of: a release before 0047 changes the document only.
    """

    document: str
    fingerprint: Fingerprint
    corrected: bool = False

    def packed(self) -> bytes:
        """Return what `stored_features` reads."""
        return dump(self)


_load = decoder(CaseFeatures)


def features_of(case: TestCase, digest: str) -> CaseFeatures:
    """Return the features of a test case; `digest` is the one of its document."""
    return CaseFeatures(digest, of_case(case), case.basis == "corrected")


def stored_features(packed: bytes | None, digest: str) -> CaseFeatures | None:
    """Return features as they were stored; None without any, or if they are of another document or edition."""
    features = _load(packed) if packed else None
    usable = features and features.document == digest and features.fingerprint.edition == EDITION
    return features if usable else None


def of_case(case: TestCase) -> Fingerprint:
    """Return the fingerprint of the turns that a replay plays."""
    calls, answers = [], []
    for number, turn in enumerate(case.played_turns):
        for step in turn.steps:
            if step.kind == "answer":
                answers.append(step.text)
            elif step.name:
                batch = f"{number}:{step.batch}" if step.batch else ""
                calls.append(CalledTool(cut_name(step.name), batch, bool(step.error)))
    return make(
        turns=len(case.played_turns),
        calls=calls,
        texts=[turn.user for turn in case.played_turns if turn.user],
        has_error=any(call.failed for call in calls),
        has_refusal=any(map(is_refusal, answers)),
        versions=[turn.prompt_version for turn in case.played_turns if turn.prompt_version],
    )
