"""The instruction that traces bring, compared with a prompt; adopts it, and puts placeholders where it varies."""

from __future__ import annotations

from typing import Any

from app.errors import Conflict, Invalid, StaleDraft
from app.schemas.agents import AcceptProposalsSchema
from app.schemas.base import load
from app.services.prompts import drafts
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.presenters.diffs import diff_rows
from app.web.visit import Visit


class InstructionPage(PromptPage):
    refusals = (Conflict, Invalid, StaleDraft)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        report = self.services.instructions.report(project_id=visit.project_id, prompt_id=prompt_id)
        newest = report.newest
        return show(
            "instruction.html",
            report=report,
            etag=drafts.etag(report.head),
            rows=diff_rows(report.draft.value, newest.text) if newest and report.differs else [],
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        """Adopt the instruction, or accept the ticked proposals."""
        draft: dict[str, Any] = {
            "project_id": visit.project_id,
            "prompt_id": prompt_id,
            "if_match": [visit.form.text("etag")],
            "actor": visit.actor,
        }
        if visit.form.text("do") == "adopt":
            self.services.instructions.adopt(**draft)
            return Redirect(f"{visit.base}/prompts/{prompt_id}/edit", "The instruction of your program is the draft.")
        ticked = [
            {"id": proposal} | ({"key": key} if (key := visit.form.text(f"key.{proposal}").strip()) else {})
            for proposal in visit.form.texts("proposal")
        ]
        self.services.instructions.accept(**draft, **load(AcceptProposalsSchema(), {"accept": ticked}))
        return Redirect(f"{visit.base}/prompts/{prompt_id}/edit", "The placeholders are in the draft.")
