"""Recorded sessions that sentences without a guard are about, and the test cases that are made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from app.database.transactions import Database
from app.errors import Invalid, NotFound
from app.guard.decision import State
from app.guard.relevance import CaseWords, most_relevant
from app.models import cases as test_cases
from app.models.audit_log import SYSTEM, Actor
from app.services.experiments.guard_maps import GuardMapService, MappedSentence, MapView, words_of_fingerprint
from app.services.suites.accepting import AcceptedCases, Pick, SuiteAcceptance
from app.services.suites.proposing import previews_of
from app.services.suites.reading import Period, SampleReader
from app.services.suites.service import SuiteService
from app.suites.samples import Sample
from app.timestamps import Now

SESSIONS_READ, DAYS = 2_000, timedelta(days=30)
"""The sessions that are compared with sentences: the newest ones, and the time before now in which they began."""
OFFERED_MAX = 3
"""Sessions that are offered for a sentence."""
COMPARED_MAX = 60
"""Sessions of a sentence of which the first different ones are offered."""
WITHOUT_GUARD: frozenset[State] = frozenset({"unguarded", "inert"})
QUOTED_MAX = 200


@dataclass(frozen=True, slots=True)
class OfferedSession:
    """A session with the words that it shares with a sentence, and its first words, None without any."""

    session_id: str
    words: Sequence[str]
    preview: str | None = None


@dataclass(frozen=True, slots=True)
class SentenceOffer:
    """The sessions that are offered for a sentence."""

    sentence: MappedSentence
    sessions: Sequence[OfferedSession]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardOffers:
    database: Database
    now: Now
    maps: GuardMapService
    samples: SampleReader
    acceptance: SuiteAcceptance
    suites: SuiteService

    def read(self, *, project_id: int, map_id: int) -> Sequence[SentenceOffer]:
        """Return the sentences that no test guards with the sessions that share words with them, in their order.

        Offered are sessions without a test case that can be replayed and went right, of each kind one. Raises
        `NotFound` for an unknown map, and `Unavailable` if too many large readings are under way.
        """
        return self.of_view(self.maps.get(project_id=project_id, map_id=map_id))

    def of_view(self, view: MapView) -> Sequence[SentenceOffer]:
        """Return what is offered for the sentences of a map that was read before; raises `Unavailable` as `read`."""
        open_sentences = [sentence for sentence in view.sentences if sentence.state in WITHOUT_GUARD]
        if not view.row.finished or not open_sentences:
            return []
        until = self.now()
        which = {"project_id": view.row.project_id, "prompt_id": view.row.prompt_id}
        period = Period(until - DAYS, until, SESSIONS_READ)
        with self.samples.opened([period], **which, features_bytes=0) as (read,):
            fit = [sample for sample in read.samples if not (sample.went_wrong or sample.scored.fingerprint.lacks)]
            words = CaseWords.of(words_of_fingerprint(sample.scored.fingerprint) for sample in fit)
            offers = [SentenceOffer(sentence, _different(sentence.text, fit, words)) for sentence in open_sentences]
        return self._shown(view, offers)

    def make(
        self,
        *,
        project_id: int,
        map_id: int,
        sentence: int,
        session_ids: Sequence[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> AcceptedCases:
        """Make test cases of sessions for a sentence, by default of the ones that are offered for it.

        They join the suite that the map played, if it played one. Raises `NotFound` for an unknown map or sentence,
        and `Invalid` if no session is offered.
        """
        view = self.maps.get(project_id=project_id, map_id=map_id)
        mapped = next((mapped for mapped in view.sentences if mapped.number == sentence), None)
        if mapped is None:
            raise NotFound("The guard map has no such sentence.")
        if session_ids is None:
            offers = (offer for offer in self.of_view(view) if offer.sentence.number == sentence)
            session_ids = [session.session_id for offer in offers for session in offer.sessions]
        if not session_ids:
            raise Invalid("sentence: No recorded session of the last 30 days is offered for it.")
        reason = f"It is about “{mapped.text[:QUOTED_MAX]}”."
        picks = [Pick(id_, reason) for id_ in session_ids]
        owner = {"project_id": project_id, "prompt_id": view.row.prompt_id}
        accepted = self.acceptance.accept_cases(**owner, picks=picks, actor=actor)
        if suite := view.row.design.get("suite"):
            self.suites.put(**owner, name=suite, members=accepted.members, actor=actor)
        return accepted

    def _shown(self, view: MapView, offers: Sequence[SentenceOffer]) -> Sequence[SentenceOffer]:
        """Return the first sessions without a test case, with the first words of the user."""
        ids = {session.session_id for offer in offers for session in offer.sessions}
        with self.database.read() as connection:
            known = test_cases.sessions_with_cases(connection, prompt_id=view.row.prompt_id, session_ids=ids)
            kept = [SentenceOffer(offer.sentence, _without(known, offer.sessions)) for offer in offers]
            chosen = {session.session_id for offer in kept for session in offer.sessions}
            previews = previews_of(connection, view.row.project_id, sorted(chosen))
        return [SentenceOffer(offer.sentence, _with(previews, offer.sessions)) for offer in kept]


def _without(known: Collection[str], sessions: Iterable[OfferedSession]) -> list[OfferedSession]:
    return [session for session in sessions if session.session_id not in known][:OFFERED_MAX]


def _with(previews: Mapping[str, str], sessions: Iterable[OfferedSession]) -> list[OfferedSession]:
    return [replace(session, preview=previews.get(session.session_id)) for session in sessions]


def _different(sentence: str, samples: Sequence[Sample], words: CaseWords) -> list[OfferedSession]:
    """Return the sessions that a sentence is about, one for each order of tools with the same words."""
    kinds: dict[tuple[Sequence[str], Sequence[str]], OfferedSession] = {}
    for session in most_relevant(sentence, words, COMPARED_MAX):
        sample = samples[session.session_index]
        kinds.setdefault((sample.scored.fingerprint.order, session.words), OfferedSession(sample.id, session.words))
    return [*kinds.values()]
