"""What the editor's form asks to be tried, and how it looks when it comes back."""

from __future__ import annotations

from dataclasses import replace

from app.errors import Invalid, RepriseError, StaleDraft
from app.models.runs import RunRow
from app.schemas.base import load
from app.schemas.runs import FILES_MAX, RunRequest
from app.services.runs import RunCommand
from app.web.forms import Form
from app.web.presenters.prompt_editor import Sent
from app.web.presenters.prompt_form import fields_sent, selections_sent


def tried(prompt_id: int, form: Form) -> RunCommand:
    """A run of the draft; `Invalid` without a question or with too many files."""
    question = form.text("question")
    if not question.strip():
        raise Invalid("question: Write what to ask the draft.")
    if len(form.files) > FILES_MAX:
        raise Invalid(f"files: At most {FILES_MAX} can go with a question.")
    asked = {"id": prompt_id, "question": question, "placeholders": selections_sent(form), "productive": False}
    command: RunCommand = load(RunRequest(), asked)
    return replace(command, files=form.files)


def selections_run(run: RunRow | None) -> dict[str, str]:
    """The values that the last try was made with."""
    resolved: dict[str, str | None] = run.request["resolved"] if run else {}
    return {key: name for key, name in resolved.items() if name is not None}


def sent_again(form: Form, error: RepriseError | None) -> Sent:
    """What was not taken, because of `error` or because it was only to be rendered."""
    return Sent(
        fields=fields_sent(form),
        question=form.text("question"),
        message=form.text("message"),
        problem=str(error or ""),
        stale=isinstance(error, StaleDraft),
    )
