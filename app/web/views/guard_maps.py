"""Guard maps of a prompt: their list, the form that starts one, and the text of one with the states in its margin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from reprise_formats.formats import plural

from app.errors import Invalid, NotFound, Unavailable
from app.guard.sentences import PLACEHOLDER
from app.http.access import ByRole
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.guard_maps import GuardCasesSchema, StartMapSchema
from app.search.words import words_of
from app.services.experiments.guard_maps import MapForecast, MappedSentence, MapView, NewMap
from app.services.experiments.guard_offers import SentenceOffer
from app.services.experiments.guard_plan import REPLAYS_DEFAULT
from app.web.forms import Form
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, show
from app.web.presenters.experiment_form import DRAFT, version_choices
from app.web.visit import Visit

NEW = {"candidate": DRAFT, "suite": "", "lines": "", "replays": str(REPLAYS_DEFAULT), "cost": ""}
SEARCHED_WORDS = 2


@dataclass(frozen=True, slots=True)
class MarginRow:
    """A part of the text: a sentence, or what is between sentences; `search` are words for the search of sessions."""

    text: str
    sentence: MappedSentence | None = None
    search: str = ""


class GuardMapsPage(PromptPage):
    """Lists the guard maps of a prompt, shows what one would play, and starts one."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        listed = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        versions = [version.head for version in listed]
        given = NEW | {name: visit.query[name] for name in ("candidate", "suite", "lines") if visit.query.get(name)}
        page = self.services.guard_maps.list(
            project_id=visit.project_id, prompt_id=prompt_id, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        return show(
            "guard_maps.html",
            head=self.head(visit, prompt_id),
            maps=page.entries,
            running=any(not row.finished for row in page.entries),
            pages=visit.pages(page.next_cursor),
            suites=self.suite_choices(visit, prompt_id),
            candidates=[
                (DRAFT, "The draft"),
                *version_choices(versions, visit.sent.text("candidate", given["candidate"])),
            ],
            forecast=None if visit.problem else self._forecast(visit, prompt_id, given),
            given=given,
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        new: NewMap = load(StartMapSchema(), _sent(visit.form))
        row = self.services.guard_maps.start(project_id=visit.project_id, prompt_id=prompt_id, new=new)
        self.container.experiment_delivery.begin(row)
        return Redirect(f"{visit.base}/guard-maps/{row.id}")

    def _forecast(self, visit: Visit, prompt_id: int, given: Mapping[str, str]) -> MapForecast | str:
        """Return what a map would play with the fields of the form, or why there can't be one."""
        try:
            new: NewMap = load(StartMapSchema(), _body(given["candidate"], given["suite"], given["lines"]))
            return self.services.guard_maps.forecast(project_id=visit.project_id, prompt_id=prompt_id, new=new)
        except (Invalid, NotFound) as refused:
            return str(refused).partition(": ")[2] or str(refused)


class GuardMapPage(PromptPage):
    """Shows a prompt's text with the state of each sentence in its margin, and makes test cases for a sentence."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, map_id: int) -> Reply:
        view = self.services.guard_maps.get(project_id=visit.project_id, map_id=map_id)
        offers: Sequence[SentenceOffer] = ()
        # The map is shown although other large readings are under way.
        with suppress(Unavailable):
            offers = self.services.guard_offers.of_view(view)
        return show(
            "guard_map.html",
            head=self.head(visit, view.row.prompt_id),
            view=view,
            row=view.row,
            parts=list(_rows(view)),
            offers={offer.sentence.number: offer.sessions for offer in offers if offer.sessions},
            decided=sum(view.counts.values()),
        )

    def post(self, visit: Visit, map_id: int) -> Reply:
        """Make test cases of the ticked sessions for a sentence."""
        form = visit.form
        sent = {"sentence": form.integer("sentence"), "sessionIds": form.texts("session")}
        if not sent["sessionIds"]:
            raise Invalid("Tick the sessions to make test cases of.")
        accepted = self.services.guard_offers.make(
            project_id=visit.project_id, map_id=map_id, **load(GuardCasesSchema(), sent), actor=visit.actor
        )
        made = f"{plural(len(accepted.members), 'test case')} made."
        left = f" Left out: {accepted.left_out[0].message}" if accepted.left_out else ""
        return Redirect(f"{visit.base}/guard-maps/{map_id}", f"{made}{left} The next map plays them.")


class CancelGuardMap(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, map_id: int) -> Reply:
        self.services.guard_maps.cancel(project_id=visit.project_id, map_id=map_id)
        return Redirect(f"{visit.base}/guard-maps/{map_id}", "The guard map is cancelled.")


def _rows(view: MapView) -> Iterator[MarginRow]:
    at = 0
    for sentence in view.sentences:
        if view.text[at : sentence.begin].strip():
            yield MarginRow(view.text[at : sentence.begin].strip("\n"))
        longest = sorted(set(words_of(PLACEHOLDER.sub("", sentence.text))), key=lambda word: (-len(word), word))
        yield MarginRow(sentence.text, sentence, " ".join(longest[:SEARCHED_WORDS]))
        at = sentence.end
    if view.text[at:].strip():
        yield MarginRow(view.text[at:].strip("\n"))


def _sent(form: Form) -> dict[str, Any]:
    """Return the body of the API for the fields of the form."""
    return _body(form.text("candidate"), form.text("suite"), form.text("lines")) | {
        "maxReplays": form.number_if_given("replays", "Replays at most") or REPLAYS_DEFAULT,
        "maxCost": form.number_if_given("cost", "Cost at most"),
        "modelMutants": form.flag("model"),
    }


def _body(candidate: str, suite: str, lines: str) -> dict[str, Any]:
    first, _, last = lines.partition("-")
    chosen = {"firstLine": _line(first), "lastLine": _line(last or first)} if first.strip() else {}
    text = "draft" if candidate in ("", DRAFT) else {"commitHash": candidate}
    return {"candidate": text, "suite": suite or None, **chosen}


def _line(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) < 9):
        raise Invalid("Lines: Write a line, or two of them such as 10-25.")
    return int(text)
