"""The online checks of a prompt: list, add, change, remove."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import asdict
from typing import Any

from app.errors import Invalid
from app.http.access import ByRole
from app.models.language_models import LanguageModel
from app.models.online_checks import OnlineCheck
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.online_checks import OnlineCheckSchema
from app.services.scores.online_checks import NewCheck
from app.web.forms import Form
from app.web.page import PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.prompt_editor import model_choices
from app.web.visit import Visit

KINDS = [("judge", "A model judges that"), ("contains", "It has the text"), ("regex", "It matches the pattern")]
TEXTS = ("name", "kind", "value", "version", "model")


NEW = {"name": "", "kind": "judge", "value": "", "judge": "", "cost": "1", "percent": "10", "version": "", "model": ""}


class OnlineChecks(PromptPage):
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        models = self.services.models.list(organization_id=visit.organization_id)
        return show(
            "online_checks.html",
            head=self.head(visit, prompt_id),
            checks=self.services.online_checks.list(project_id=visit.project_id, prompt_id=prompt_id),
            kinds=KINDS,
            judges=_judges(models, self.services.credentials.lacking(visit.organization_id, models)),
            given=NEW,
            names={model.id: model.name for model in models},
            today=self.container.now().date().isoformat(),
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        check = self.services.online_checks.add(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            new=new_check(visit.form),
            actor=visit.actor,
            may_spend=True,
        )
        path = f"{visit.base}/prompts/{prompt_id}/online-checks"
        return Redirect(path, f"New turns are checked for {check.name[:100]}.")


class OnlineCheckView(PromptPage):
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, check_id: int) -> Reply:
        check = self.services.online_checks.get(project_id=visit.project_id, check_id=check_id)
        models = self.services.models.list(organization_id=visit.organization_id)
        return show(
            "online_check.html",
            head=self.head(visit, check.prompt_id),
            check=check,
            path=f"{visit.base}/online-checks/{check_id}",
            kinds=KINDS,
            judges=_judges(models, self.services.credentials.lacking(visit.organization_id, models)),
            given=_given(check, models),
            enabled=visit.sent.flag("enabled") if visit.problem else check.enabled,
        )

    def post(self, visit: Visit, check_id: int) -> Reply:
        values = asdict(new_check(visit.form)) | {"enabled": visit.form.flag("enabled")}
        change = self.services.online_checks.change
        check = change(project_id=visit.project_id, check_id=check_id, values=values, actor=visit.actor, may_spend=True)
        return Redirect(_list_of(visit, check), "The check is changed." if check.enabled else "The check is paused.")


def _judges(models: Sequence[LanguageModel], lacking: Container[int]) -> list[tuple[str, str]]:
    """Return the models that can judge, as options, those `lacking` a key last."""
    return [("", "No model"), *model_choices([model for model in models if model.vendor != "BUILTIN"], lacking)]


def _given(check: OnlineCheck, models: Sequence[LanguageModel]) -> dict[str, str]:
    """Return the texts of a check's form."""
    return {
        "name": check.name,
        "kind": check.kind,
        "value": check.value,
        "judge": next((model.name for model in models if model.id == check.judge_model_id), ""),
        "cost": f"{check.max_cost_per_day:.15g}",
        "percent": f"{check.share * 100:.15g}",
        "version": check.version or "",
        "model": check.model or "",
    }


def _list_of(visit: Visit, check: OnlineCheck) -> str:
    return f"{visit.base}/prompts/{check.prompt_id}/online-checks"


class RemoveOnlineCheck(PromptPage):
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})

    def get(self, visit: Visit, check_id: int) -> Reply:
        check = self.services.online_checks.get(project_id=visit.project_id, check_id=check_id)
        return confirm(
            visit,
            title=f"Remove the check “{check.name[:100]}”?",
            text="No more turns are checked. The scores that it gave stay.",
            button="Remove the check",
            back=_list_of(visit, check),
        )

    def post(self, visit: Visit, check_id: int) -> Reply:
        check = self.services.online_checks.get(project_id=visit.project_id, check_id=check_id)
        self.services.online_checks.remove(project_id=visit.project_id, check_id=check_id, actor=visit.actor)
        return Redirect(_list_of(visit, check), "The check is removed.")


def new_check(form: Form) -> NewCheck:
    """Return the check of the form; raises `Invalid` like the API."""
    sent: dict[str, Any] = {name: form.text(name) for name in TEXTS if form.text(name)}
    if form.text("judge"):
        sent["judgeModelName"] = form.text("judge")
    sent["share"] = form.number("percent", "Share of the turns") / 100
    if (cost := form.number_if_given("cost", "Cost a day")) is not None:
        sent["maxCostPerDay"] = cost
    check: NewCheck = load(OnlineCheckSchema(), sent)
    return check
