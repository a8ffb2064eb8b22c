"""A project's prompts and versions: list, make, archive, compare and restore them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import Invalid
from app.models.organizations import Role
from app.models.prompt_versions import VersionHead
from app.models.usage import VersionActivity
from app.schemas.base import load
from app.schemas.prompts import NewPromptSchema
from app.services.prompts.content import PromptContent, placeholders_json
from app.services.prompts.editor import ListedVersion
from app.services.replays.history import DraftHistory
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.lists import order_of
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.diffs import diff_json, diff_rows
from app.web.presenters.prompt_editor import model_choices
from app.web.visit import Visit


class PromptsPage(PromptPage):
    def get(self, visit: Visit) -> Reply:
        search, order = visit.query.get("search", ""), order_of(visit.query, ("name", "changed"), default="-changed")
        page = self.services.prompts.list(
            project_id=visit.project_id,
            search=search or None,
            before_id=visit.identifier("cursor"),
            limit=PAGE_SIZE,
            order=order.value,
        )
        models = self.services.models.list(organization_id=visit.organization_id)
        activity = self.services.overview.recent(
            project_id=visit.project_id, prompt_ids=[prompt.id for prompt in page.prompts]
        ).prompts
        return show(
            "prompts.html",
            search=search,
            order=order,
            count=self.services.overview.count_prompts(project_id=visit.project_id, search=search or None),
            prompts=page.prompts,
            activity=activity,
            failing=any(prompt_activity.passed < prompt_activity.replayed for prompt_activity in activity.values()),
            models={model.id: model.name for model in models},
            pages=visit.pages(page.next_before_id),
        )


class NewPromptPage(PromptPage):
    reads = Role.MEMBER
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        """Show the form with the usable models, the organization's default first."""
        models = self.services.models.list(organization_id=visit.organization_id)
        default = next((f"Default ({model.name})" for model in models if model.is_default), "Default model")
        lacking = self.services.credentials.lacking(visit.organization_id, models)
        return show("prompt_new.html", models=[("", default), *model_choices(models, lacking)])

    def post(self, visit: Visit) -> Reply:
        created = self.services.prompt_editor.create(
            project_id=visit.project_id,
            organization_id=visit.organization_id,
            new=load(NewPromptSchema(), new_prompt_body(visit.form)),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/prompts/{created.prompt_id}", f"Created {created.name}.")


def new_prompt_body(form: Form) -> dict[str, Any]:
    """Return the body of POST /api/v1/prompts for the form; without a chosen model it has none, for the default."""
    body = {
        "name": form.text("name"),
        "value": form.text("value"),
        "instructionFormat": form.text("format", "XML"),
        "commit": False,
    }
    return body | ({"languageModelName": form.text("model")} if form.text("model") else {})


class Archive(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        head = self.head(visit, prompt_id)
        return confirm(
            visit,
            title=f"Archive “{head.name}”?",
            text="Callers that run it get 404 until it is unarchived. Nothing is deleted: its versions, "
            "test cases and logs come back with it.",
            button="Archive the prompt",
            back=f"{visit.base}/prompts/{prompt_id}/edit",
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        name = self.head(visit, prompt_id).name
        self.services.prompt_editor.archive(project_id=visit.project_id, prompt_id=prompt_id, actor=visit.actor)
        undo = f"{visit.base}/prompts/{prompt_id}/unarchive"
        return Redirect(f"{visit.base}/prompts", Flash(f"{name} is archived.", undo=undo))


class ArchivedPrompts(PromptPage):
    def get(self, visit: Visit) -> Reply:
        page = self.services.prompts.list(
            project_id=visit.project_id, before_id=visit.identifier("cursor"), limit=PAGE_SIZE, archived=True
        )
        return show("prompts_archived.html", prompts=page.prompts, pages=visit.pages(page.next_before_id))


class UnarchivePage(PromptPage):
    def post(self, visit: Visit, prompt_id: int) -> Reply:
        view = self.services.prompt_editor.unarchive(
            project_id=visit.project_id, prompt_id=prompt_id, actor=visit.actor
        )
        return Redirect(f"{visit.base}/prompts/{prompt_id}", f"{view.head.name} is unarchived.")


DRAFT = "draft"


class VersionsPage(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        """Show a page of the versions with their figures, newest first.

        An uncommitted draft comes before them. The first entry is on every page, so that versions of all pages can be
        compared with it. The cursor is the number of versions before the page.
        """
        named = {"project_id": visit.project_id, "prompt_id": prompt_id}
        replays = {entry.commit_hash: entry for entry in self.services.replay_history.of_prompt(**named)}
        versions = self.services.versions.list(**named)
        head, activity = self.head(visit, prompt_id), self.services.overview.versions(prompt_id=prompt_id)
        keys = sort_keys(activity, replays)
        order = order_of(visit.query, keys, default="-version")
        start, ordered = visit.identifier("cursor") or 0, order.sorted(versions, keys)
        end, newest = start + PAGE_SIZE, versions[0] if versions else None
        first = newest if head.committed else None
        pinned = [first] if not head.committed or (start and newest not in ordered[start:end]) else []
        return show(
            "versions.html",
            head=head,
            order=order,
            newest=newest,
            count=len(versions),
            rows=pinned + ordered[start:end],
            pages=visit.pages(end if end < len(versions) else None),
            labels=self.services.labels.list(**named),
            activity=activity,
            sessions=self.services.overview.sessions(**named),
            replays=replays,
        )


def sort_keys(
    activity: Mapping[str | None, VersionActivity], replays: Mapping[str | None, DraftHistory]
) -> dict[str, Callable[[ListedVersion], float]]:
    """Return the sort key of each column. Versions without a value come lowest."""

    def of(get: Callable[[VersionActivity], float | None]) -> Callable[[ListedVersion], float]:
        known = {name: value for name, entry in activity.items() if (value := get(entry)) is not None}
        return lambda version: known.get(version.head.commit_hash, -1)

    passed = {name: entry.pass_rate for name, entry in replays.items() if entry.pass_rate is not None}
    return {
        "version": lambda version: version.head.id,
        "runs": of(lambda entry: entry.runs),
        "cost": of(lambda entry: entry.cost_usd),
        "time": of(lambda entry: entry.average_ms),
        "failed": of(lambda entry: entry.failed / entry.runs),
        "passed": lambda version: passed.get(version.head.commit_hash, -1),
    }


class VersionPage(PromptPage):
    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        view = self.services.versions.get(project_id=visit.project_id, prompt_id=prompt_id, commit_hash=commit_hash)
        return show("version.html", head=view.head, labels=view.labels, content=view.content)


class Compare(PromptPage):
    """Compares the versions `from` and `to`, hashes or "draft"; by default the newest version and the draft."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        versions = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id, limit=1)
        newest = versions[0].head.commit_hash if versions else DRAFT
        first = self._side(visit, prompt_id, visit.query.get("from", newest))
        other = self._side(visit, prompt_id, visit.query.get("to", DRAFT))
        left, right = first.content, other.content
        return show(
            "compare.html",
            content=right,
            sides=(first, other),
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

    def _side(self, visit: Visit, prompt_id: int, which: str) -> ComparedContent:
        prompts, project_id = self.services.prompts, visit.project_id
        if which == DRAFT:
            return ComparedContent(
                prompts.content(project_id=project_id, prompt_id=prompt_id, productive=False, commit_hash=None)
            )
        view = self.services.versions.get(project_id=project_id, prompt_id=prompt_id, commit_hash=which)
        return ComparedContent(view.content, view.head)


@dataclass(frozen=True, slots=True)
class ComparedContent:
    """A side of a comparison. Without a `version` it is the draft."""

    content: PromptContent
    version: VersionHead | None = None

    @property
    def key(self) -> str:
        return self.version.commit_hash if self.version else DRAFT

    @property
    def title(self) -> str:
        if self.version is None:
            return "The draft"
        return self.version.message or f"Version {self.version.commit_hash[:8]}"


def _parameters(content: PromptContent) -> dict[str, object]:
    fallback = {"whenItFails": content.fallback.name} if content.fallback else {}
    return {"model": content.model.name, "vendor": content.model.vendor, **fallback, **content.config}


class RestorePage(PromptPage):
    """Restores a version into the draft, after a confirmation: the draft is overwritten."""

    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        draft = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        lost = "The draft has nothing that is not committed, so nothing is lost."
        if not draft.head.committed:
            lost = "What the draft has and no version has is lost: commit it first if you want to keep it."
        return confirm(
            visit,
            title=f"Put version {commit_hash[:8]} into the draft?",
            text=f"{lost} The history does not change; callers get the version only once you commit it.",
            button="Restore into the draft",
            back=f"{visit.base}/prompts/{prompt_id}/versions",
            danger=not draft.head.committed,
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
