"""Reads the features of test cases: the fingerprints by which suites compare them with sessions.

They are stored when a test case's document is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from app.database.transactions import Database
from app.models import cases as test_cases
from app.models import suites
from app.models.suites import FeaturedCase
from app.replay.cases import load_case
from app.suites.cases import CaseFeatures, features_of, stored_features
from app.suites.features import Effects, Feature, ScoredFingerprint, Vocabulary, given_by

CASE_BYTES = 32 * 1024 * 1024
"""Bytes that a request or an alert reads of test cases: of their features, or of documents that have none yet."""
AT_ONCE = 100
"""Test cases of which the features are read at once."""
WIDEST_BYTES = 50 * 1024
"""Bytes of the widest features; those of a release before 0047 are not stored and count as these."""


@dataclass(frozen=True, slots=True)
class ReadCase:
    """A test case with its features."""

    id: int
    name: str
    stored: CaseFeatures

    def features(self, vocabulary: Vocabulary, effect_of: Effects) -> frozenset[Feature]:
        scored = ScoredFingerprint(self.stored.fingerprint)
        return given_by(scored, vocabulary, effect_of, corrected=self.stored.corrected)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReader:
    database: Database

    def size(self, *, project_id: int, test_case_ids: Collection[int]) -> int:
        """Return the bytes of the features that `read` yields, or a few more, without reading them."""
        with self.database.read() as connection:
            sizes = suites.sizes_of_features(connection, project_id=project_id, test_case_ids=test_case_ids)
        return min(CASE_BYTES, sum(WIDEST_BYTES if size is None else size for size in sizes))

    def read(self, *, project_id: int, test_case_ids: Collection[int]) -> Iterator[ReadCase]:
        """Yield test cases, the newest first, until they have `CASE_BYTES`.

        A release before 0047 stored no features; they are made and stored here. No transaction is open meanwhile.
        """
        room = CASE_BYTES
        ids = iter(sorted(test_case_ids, reverse=True))
        while piece := [*islice(ids, AT_ONCE)]:
            with self.database.read() as connection:
                cases = suites.featured_cases(connection, project_id=project_id, test_case_ids=piece)
                stored = {case.id: stored_features(case.features, case.fingerprint) for case in cases}
                without = [id_ for id_, features in stored.items() if features is None]
                sizes = test_cases.sizes_of(connection, project_id=project_id, test_case_ids=without)
            for case in reversed(cases):
                room -= sizes.get(case.id, len(case.features or b""))
                if room < 0:
                    return
                features = stored[case.id] or self._made(project_id, case)
                if features is not None:
                    yield ReadCase(case.id, case.name, features)

    def _made(self, project_id: int, case: FeaturedCase) -> CaseFeatures | None:
        """Make and store the features of a test case; None if it was deleted meanwhile."""
        with self.database.read() as connection:
            row = test_cases.find_test_case(connection, project_id=project_id, test_case_id=case.id)
        if row is None:
            return None
        made = features_of(load_case(row.document), row.fingerprint)
        self.database.retrying(partial(test_cases.put_features, row=row, features=made.packed()))
        return made
