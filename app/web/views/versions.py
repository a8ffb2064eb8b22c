"""A prompt's versions: the list, one, two side by side, restoring."""

from __future__ import annotations

from app.services.prompts.content import PromptContent, placeholders_json
from app.web.page import PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.diffs import diff_json, diff_rows
from app.web.visit import Visit

DRAFT = "draft"


class Versions(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        """The versions with how each did, newest first, and before them the draft if it is not committed."""
        history = self.services.replay_history.of_prompt(project_id=visit.project_id, prompt_id=prompt_id)
        return show(
            "versions.html",
            head=self.head(visit, prompt_id),
            versions=self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id),
            activity=self.services.overview.versions(prompt_id=prompt_id),
            replays={entry.commit_hash: entry for entry in history},
        )


class Version(PromptPage):
    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        view = self.services.versions.get(project_id=visit.project_id, prompt_id=prompt_id, commit_hash=commit_hash)
        return show("version.html", head=view.head, content=view.content)


class Compare(PromptPage):
    """Two versions, `from` and `to`: hashes, or "draft"; without `to` it is the draft."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        left = self._content(visit, prompt_id, visit.query.get("from", DRAFT))
        right = self._content(visit, prompt_id, visit.query.get("to", DRAFT))
        return show(
            "compare.html",
            content=right,
            keys=[side.commit_hash or DRAFT for side in (left, right)],
            left=_title(left),
            right=_title(right),
            differences=[
                ("Text", "The text is the same.", diff_rows(left.value, right.value)),
                (
                    "Model and parameters",
                    "Model and parameters are the same.",
                    diff_json(_parameters(left), _parameters(right)),
                ),
                (
                    "Placeholders",
                    "The placeholders are the same.",
                    diff_json(placeholders_json(left.placeholders), placeholders_json(right.placeholders)),
                ),
            ],
        )

    def _content(self, visit: Visit, prompt_id: int, which: str) -> PromptContent:
        return self.services.prompts.content(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            productive=False,
            commit_hash=None if which == DRAFT else which,
        )


def _title(content: PromptContent) -> str:
    return f"Version {content.commit_hash[:8]}" if content.commit_hash else "The draft"


def _parameters(content: PromptContent) -> dict[str, object]:
    fallback = {"whenItFails": content.fallback.name} if content.fallback else {}
    return {"model": content.model.name, "vendor": content.model.vendor, **fallback, **content.config}


class Restore(PromptPage):
    """Puts a version into the draft, after asking: the draft is overwritten."""

    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        draft = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        lost = "The draft has nothing that is not committed, so nothing is lost."
        if not draft.head.committed:
            lost = "What the draft has and no version has is lost: commit it first if you want to keep it."
        return confirm(
            visit,
            title=f"Put version {commit_hash[:8]} into the draft?",
            text=f"{lost} The history stays as it is; callers get the version only once you commit it.",
            button="Restore into the draft",
            back=f"{visit.base}/prompts/{prompt_id}/versions",
            etag=draft.etag or "",
        )

    def post(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        self.services.versions.restore(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=[visit.form.text("etag")],
            actor=visit.actor,
        )
        path = f"{visit.base}/prompts/{prompt_id}/edit"
        return Redirect(path, f"Version {commit_hash[:8]} is in the draft.")
