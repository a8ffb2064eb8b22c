"""A recorded session in parts. Its spans and its long texts have separate pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from app.errors import require
from app.models.scores import THUMBS, ScoreRow
from app.services.sessions.service import Session
from app.sessions.types import ShownSpan
from app.values.json import json_text
from app.values.storable import storable_text
from app.web.cookies import Flash
from app.web.page import PlainText, PromptPage, Redirect, Reply, show
from app.web.presenters.marks import marks_of
from app.web.presenters.session import BARS, low_scores, next_errors, shown_turns, text_of, timeline, users_of
from app.web.presenters.session_files import download_of
from app.web.presenters.texts import WHOLE, block
from app.web.views.findings import ScoreForm, comment_of
from app.web.views.neighbours import EntryPage
from app.web.visit import Visit


class SessionView(EntryPage):
    """A session as a conversation with a timeline of turns. It shows the part with the query's turn."""

    def get(self, visit: Visit, session_id: str) -> Reply:
        turn, piece = visit.identifier("turn") or 1, visit.identifier("piece") or 1
        part = self.services.session_parts.part(
            project_id=visit.project_id, session_id=session_id, turn=turn, piece=piece
        )
        if "go" in visit.query:
            if visit.came_from.finding:
                return self.in_finding(visit, part.session.prompt_id, (part.summary.start_ns, session_id))
            return self.neighbour(visit, part.session.prompt_id, session_id)
        form = ScoreForm.read(visit.came_from.parameters) if visit.came_from.finding else None
        head = self.head(visit, part.session.prompt_id)
        return show(
            "session.html",
            section="sessions" if visit.came_from.of_sessions else self.section,
            part=part,
            facts=part.by_number,
            summary=part.summary,
            head=head,
            crumbs=self.crumbs(visit, head),
            turns=shown_turns(part.session, part.start),
            versions=self._versions(part.session),
            timeline=timeline(part),
            bars=BARS,
            next_errors=next_errors(part),
            users=users_of(part.session),
            marks=marks_of(visit.query.get("q", "")),
            thumb=(thumb := self._rating(visit, session_id, THUMBS)),
            form=form,
            given=self._rating(visit, session_id, form.name) if form else None,
            whole=[score for score in part.session.scores if score.session_key and score != thumb],
            low=low_scores(part.session),
        )

    def _rating(self, visit: Visit, session_id: str, name: str) -> ScoreRow | None:
        """Return the viewer's score of the session."""
        return self.services.scores.rating(
            project_id=visit.project_id, session_id=session_id, user_id=visit.actor.id or 0, name=name
        )

    def _versions(self, session: Session) -> dict[str, str]:
        """Return the messages of the versions that turns name. Programs may name versions that do not exist."""
        hashes = {turn.prompt_version for turn in session.turns if turn.prompt_version}
        return self.services.versions.messages(prompt_id=session.prompt_id, hashes=hashes)


class RateSession(PromptPage):
    """Rates a session by a thumb with a comment."""

    def post(self, visit: Visit, session_id: str) -> Reply:
        good = visit.form.choice("thumb", {"up", "down"}) == "up"
        self.services.scores.rate(
            project_id=visit.project_id,
            session_id=session_id,
            user_id=visit.actor.id or 0,
            value=good,
            comment=comment_of(visit.form),
            actor=visit.actor,
        )
        message = "The session is rated good." if good else "The session is rated bad."
        after = {"list": visit.query.get("list", "")}
        if visit.form.flag("next"):
            after |= {"review": "yes", "go": "next"}
        chosen = urlencode({name: value for name, value in after.items() if value})
        address = f"{_path(visit, session_id)}?{chosen}" if chosen else _path(visit, session_id)
        return Redirect(address, Flash(message, undo=f"{_path(visit, session_id)}/rating/remove"))


class RemoveRating(PromptPage):
    """Removes the viewer's rating, or their score with the query's name. Without one nothing happens."""

    def post(self, visit: Visit, session_id: str) -> Reply:
        of_session: dict[str, Any] = {"project_id": visit.project_id, "session_id": session_id}
        name = visit.query.get("name") or THUMBS
        if rating := self.services.scores.rating(**of_session, user_id=visit.actor.id or 0, name=name):
            self.services.scores.remove(project_id=visit.project_id, score_id=rating.id, actor=visit.actor)
        return Redirect(_path(visit, session_id), "Your rating is removed.")


def _path(visit: Visit, session_id: str) -> str:
    return f"{visit.base}/sessions/{session_id}"


def whole_text(visit: Visit, title: str, value: Any, back: str) -> Reply:
    """Show a text or JSON value on a page; with `raw` in the query, return it as it was recorded."""
    if "raw" in visit.query:
        return PlainText(storable_text(json_text(value)))
    raw = f"{visit.path}?{urlencode({**visit.query, 'raw': 'true'})}"
    return show("text.html", title=title, shown=block(value, WHOLE, parse=True), back=back, raw=raw)


class TurnTextPage(PromptPage):
    """The whole of a text that is truncated on the page of its session."""

    def get(self, visit: Visit, session_id: str, turn: int, text: str) -> Reply:
        piece = visit.identifier("piece") or 1
        shown = self.services.session_parts.turn(
            project_id=visit.project_id, session_id=session_id, turn=turn, piece=piece
        )
        of_piece = f"&piece={piece}" if piece > 1 else ""
        back = f"{_path(visit, session_id)}?turn={turn}{of_piece}#turn-{turn}"
        title = f"Turn {turn}: {'question' if text == 'user' else text.partition('-')[2]}"
        return whole_text(visit, title, text_of(shown, text), back)


class TurnFile(PromptPage):
    """An image, audio or other file of the user's message."""

    def get(self, visit: Visit, session_id: str, turn: int, file: int) -> Reply:
        shown = self.services.session_parts.turn(project_id=visit.project_id, session_id=session_id, turn=turn)
        return download_of(shown, file)


class SpanPage(PromptPage):
    """A span with all attributes; long ones are truncated."""

    def get(self, visit: Visit, session_id: str, span_id: str) -> Reply:
        return show("span.html", span=self._span(visit, session_id, span_id), session_id=session_id)

    def _span(self, visit: Visit, session_id: str, span_id: str) -> ShownSpan:
        return self.services.session_parts.span(project_id=visit.project_id, session_id=session_id, span_id=span_id)


class SpanAttribute(SpanPage):
    """A whole attribute of a span, by its index among the sorted names."""

    def get(self, visit: Visit, session_id: str, span_id: str, attribute: int) -> Reply:  # type: ignore[override]
        attributes = self._span(visit, session_id, span_id).attributes
        name = require(next(iter(sorted(attributes)[attribute : attribute + 1]), None), "There is no such attribute.")
        back = f"{_path(visit, session_id)}/spans/{span_id}"
        return whole_text(visit, name, attributes[name], back)
