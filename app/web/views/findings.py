"""Findings of a prompt: their list, one of them, and the queue in which its sessions are scored one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.errors import Invalid
from app.http.access import ByRole
from app.models.organizations import Role
from app.otlp.evaluations import COMMENT_MAX, EVALUATION_NAME_MAX
from app.schemas.base import load
from app.schemas.findings import FindingChangeSchema, FindingsQuerySchema
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.lists import ListOrigin, Query
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.visit import Visit

STATES = [("", "Open and in progress"), ("open", "Open"), ("in_work", "In progress"), ("solved", "Solved")]
DAYS = [("7", "The last 7 days"), ("30", "The last 30 days"), ("90", "The last 90 days")]
CHOICES_MAX = 9
"""Choices of a score: one for each of the keys 1 to 9."""


@dataclass(frozen=True, slots=True)
class ScoreForm:
    """The score that a queue asks for. Without `words` its choices are the numbers from 1 (bad) to 9 (good)."""

    name: str
    words: tuple[str, ...]

    @classmethod
    def read(cls, query: Query) -> ScoreForm:
        words = (word.strip()[:EVALUATION_NAME_MAX] for word in query.get("choices", "").split(",", CHOICES_MAX))
        name = query.get("score", "").strip()[:EVALUATION_NAME_MAX]
        return cls(name or "quality", tuple(filter(None, words))[:CHOICES_MAX])

    @property
    def labels(self) -> list[str]:
        return [*self.words] or [str(number + 1) for number in range(CHOICES_MAX)]

    @property
    def query(self) -> str:
        return urlencode({"score": self.name, "choices": ", ".join(self.words)})

    def value(self, index: int) -> float | str:
        """Return the value of a choice: a category, or a number from 0 to 1."""
        return self.words[index] if self.words else index / (CHOICES_MAX - 1)


def comment_of(form: Form) -> str:
    """Return the comment of a score; raises `Invalid` if it is too long."""
    comment = form.text("comment").strip()
    if len(comment) > COMMENT_MAX:
        raise Invalid(f"comment: Must have at most {COMMENT_MAX:,} characters.")
    return comment


class FindingsPage(PromptPage):
    """Lists what went wrong in the sessions of a prompt."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen = {name: visit.query[name] for name in ("state", "days") if visit.query.get(name)}
        query = {"states": ["open", "in_work"]} | load(FindingsQuerySchema(), chosen)
        return show(
            "findings.html",
            head=self.head(visit, prompt_id),
            listed=self.services.findings.list(project_id=visit.project_id, prompt_id=prompt_id, **query),
            choices={"state": (STATES, chosen.get("state", "")), "days": (DAYS, str(query["days"]))},
        )


class FindingPage(PromptPage):
    """Shows a finding with its sessions, test cases and experiment, and changes its state."""

    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int, finding_id: str) -> Reply:
        view = self.services.findings.get(project_id=visit.project_id, prompt_id=prompt_id, finding_id=finding_id)
        members = self.services.findings.members(project_id=visit.project_id)
        assignee, form = view.finding.assignee, ScoreForm.read(visit.query)
        return show(
            "finding.html",
            head=self.head(visit, prompt_id),
            view=view,
            form=form,
            origin=ListOrigin(form.query, finding=finding_id),
            assigned=assignee.email if assignee else "",
            members=[("", "No assignee"), *((member.email, member.name or member.email) for member in members)],
        )

    def post(self, visit: Visit, prompt_id: int, finding_id: str) -> Reply:
        changes: dict[str, Any] = {"state": visit.form.text("state")} if visit.form.text("state") else {}
        if not changes:
            changes = {"assignee": visit.form.text("assignee") or None}
        self.services.findings.change(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            finding_id=finding_id,
            changes=load(FindingChangeSchema(), changes),
            actor=visit.actor,
        )
        return Redirect(visit.path, "The finding is changed.")


class AnnotateSession(PromptPage):
    """Stores the chosen score of a session, and shows the next session of the finding."""

    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, session_id: str) -> Reply:
        form = ScoreForm.read(visit.came_from.parameters)
        number = visit.form.integer("choice")
        if not 1 <= number <= len(form.labels):
            raise Invalid("choice: Choose one of the values.")
        self.services.scores.rate(
            project_id=visit.project_id,
            session_id=session_id,
            user_id=visit.actor.id or 0,
            name=form.name,
            value=form.value(number - 1),
            comment=comment_of(visit.form),
            actor=visit.actor,
        )
        session = f"{visit.base}/sessions/{session_id}"
        undo = f"{session}/rating/remove?{urlencode({'name': form.name})}"
        address = f"{session}{visit.came_from.to_entry}&go=next"
        return Redirect(address, Flash(f"{form.name}: {form.labels[number - 1]}", undo=undo))
