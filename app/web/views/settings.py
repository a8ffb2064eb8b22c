"""Settings: the project with its API keys and data policy, the organization's members, and the audit log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from reprise_formats.formats import plural

from app.errors import Invalid
from app.models.audit_log import Action
from app.models.data_policies import DataPolicy
from app.models.organizations import Role
from app.otlp.masking import MASK, RULES_MAX
from app.schemas.base import load
from app.schemas.organization import DataPolicySchema
from app.services.accounts.keys import ADMIN, DEFAULT_SCOPES
from app.services.accounts.projects import checked_name
from app.services.data.removal import COUNTED_MAX
from app.web.forms import Form, checked_choice
from app.web.page import PAGE_SIZE, Redirect, Reply, SettingsPage, confirm, show
from app.web.views.settings_alerts import METRICS
from app.web.visit import Visit

EXPIRIES = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]
# The purpose of a key in the form, and its scopes: only the ones it needs (docs/security.md).
KEY_USES = {
    "application": ("An application: all but settings", DEFAULT_SCOPES),
    "ci": ("CI, a coding agent: read and run", frozenset({"read", "run"})),
    "exporter": ("An exporter: send traces", frozenset({"ingest"})),
}
ROLES = [
    ("viewer", "Viewer: reads"),
    ("member", "Member: edits and runs"),
    ("admin", "Admin: changes settings too"),
]
# The field in the API, the field in the policy, and its label.
DAYS = (
    ("spans", "spans_days", "Spans and sessions"),
    ("runs", "runs_days", "Runs"),
    ("replays", "replays_days", "Replays"),
    ("rejectedSpans", "rejected_days", "Rejected spans"),
)
# The names of a table's rows for people.
LOST = {
    "turns": "turn",
    "runs": "run",
    "replays": "replay",
    "calibrations": "calibration",
    "experiments": "experiment",
    "known_verdicts": "kept verdict",
    "judge_audits": "judge audit",
    "schedule_runs": "scheduled run",
    "rejected_spans": "rejected span",
    "findings": "decided finding",
}
TEST_CASE_ACTIONS = (Action.TEST_CASE_CREATED, Action.TEST_CASE_CHANGED)
ALERT_RULE_ACTIONS = (Action.ALERT_RULE_CREATED, Action.ALERT_RULE_CHANGED, Action.ALERT_RULE_REMOVED)


class Keys(SettingsPage):
    refusals = (Invalid,)
    shows_once = True

    def get(self, visit: Visit) -> Reply:
        """Show the keys. Working keys come first, the newest on top."""
        now = self.container.now()
        keys = self.services.keys.list(project_id=visit.project_id)
        ordered = sorted(keys, key=lambda key: (not key.valid_at(now), -key.id))
        uses = [(use, label) for use, (label, _) in KEY_USES.items()]
        return show("settings_keys.html", rows=ordered, now=now, uses=uses, expiries=EXPIRIES)

    def post(self, visit: Visit) -> Reply:
        days = visit.form.choice("expires", dict(EXPIRIES))
        _, scopes = KEY_USES[checked_choice("use", visit.form.text("use", "application"), KEY_USES)]
        created = self.services.keys.create(
            project_id=visit.project_id,
            name=checked_name(visit.form.text("name")),
            scopes=scopes | {ADMIN} if visit.form.text("admin") else scopes,
            expires_at=self.container.now() + timedelta(days=int(days)) if days else None,
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/settings/keys", once=created.secret)


class RevokeKey(SettingsPage):
    def get(self, visit: Visit, key_id: int) -> Reply:
        key = self.services.keys.get(project_id=visit.project_id, key_id=key_id)
        return confirm(
            visit,
            title=f"Revoke the key “{key.name}”?",
            text=f"Whatever uses the key rp_…{key.last_four} is refused within 5 seconds. This can't be undone.",
            button="Revoke the key",
            back=f"{visit.base}/settings/keys",
        )

    def post(self, visit: Visit, key_id: int) -> Reply:
        self.services.keys.revoke(project_id=visit.project_id, key_id=key_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/keys", "The key is revoked.")


class MembersPage(SettingsPage):
    refusals = (Invalid,)
    shows_once = True

    def get(self, visit: Visit) -> Reply:
        accounts, organization_id = self.services.accounts, visit.organization_id
        return show(
            "settings_members.html",
            members=accounts.members(organization_id=organization_id),
            invitations=accounts.invitations(organization_id=organization_id),
            roles=ROLES,
        )

    def post(self, visit: Visit) -> Reply:
        email = visit.form.text("email")
        token = self.services.accounts.invite(
            organization_id=visit.organization_id,
            email=email,
            role=_role(visit),
            actor=visit.actor,
        )
        path, link = f"{visit.base}/settings/members", f"{self.base_url}/join/{token}"
        return Redirect(path, f"{email} is invited.", once=link)


class MemberPage(SettingsPage):
    def post(self, visit: Visit, user_id: int) -> Reply:
        self.services.accounts.change_role(
            organization_id=visit.organization_id,
            user_id=user_id,
            role=_role(visit),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/settings/members", "The role is changed.")


class RemoveMember(SettingsPage):
    def get(self, visit: Visit, user_id: int) -> Reply:
        member = self.services.accounts.member(organization_id=visit.organization_id, user_id=user_id)
        return confirm(
            visit,
            title=f"Remove {member.name}?",
            text=f"{member.email} is signed out and loses access at once. What they made stays.",
            button="Remove the member",
            back=f"{visit.base}/settings/members",
        )

    def post(self, visit: Visit, user_id: int) -> Reply:
        self.services.accounts.remove(organization_id=visit.organization_id, user_id=user_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/members", "The member is removed.")


class WithdrawInvitation(SettingsPage):
    def get(self, visit: Visit, invitation_id: int) -> Reply:
        invitation = self.services.accounts.open_invitation(
            organization_id=visit.organization_id, invitation_id=invitation_id
        )
        return confirm(
            visit,
            title=f"Withdraw the invitation of {invitation.email}?",
            text="Its link stops working. To let them in later, make a new link.",
            button="Withdraw the invitation",
            back=f"{visit.base}/settings/members",
        )

    def post(self, visit: Visit, invitation_id: int) -> Reply:
        self.services.accounts.withdraw(
            organization_id=visit.organization_id, invitation_id=invitation_id, actor=visit.actor
        )
        return Redirect(f"{visit.base}/settings/members", "The invitation is withdrawn.")


def _role(visit: Visit) -> Role:
    try:
        return Role(visit.form.text("role"))
    except ValueError as error:
        raise Invalid("role: There is no such role.") from error


class ProjectSettings(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        return show("settings_project.html")

    def post(self, visit: Visit) -> Reply:
        name, projects = visit.form.text("name"), self.services.projects
        if visit.form.text("do") == "create":
            project_id = projects.create(organization_id=visit.organization_id, name=name, actor=visit.actor)
            return Redirect(f"/projects/{project_id}/start", "The project is created.")
        projects.rename(project_id=visit.project_id, name=name, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/project", "The project is renamed.")


Rules = list[dict[str, str]]


class DataPolicySettings(SettingsPage):
    """The days that the project keeps its data, and the rules that mask it before it is stored."""

    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        """Show the policy or the sent form."""
        policy, form = self.services.data_policies.get(project_id=visit.project_id), visit.form
        rules, focused = self._rules(visit) if form.fields else (policy.masking, None)
        stored = [(field, label, getattr(policy, name) or "") for field, name, label in DAYS]
        return show(
            "settings_data.html",
            days=[(field, label, form.text(field)) for field, _, label in DAYS] if form.fields else stored,
            rules=rules,
            rules_max=RULES_MAX,
            unsaved=bool(form.fields),
            focused=focused,
        )

    def post(self, visit: Visit) -> Reply:
        """Save the policy. If it removes stored data, ask for confirmation first.

        A form that adds or removes a rule is only shown again.
        """
        if visit.form.text("do", "save") != "save":
            return self.get(visit)
        try:
            policy: DataPolicy = load(DataPolicySchema(), policy_body(visit.form))
            if not visit.form.text("confirmed") and (lost := self._lost(visit, policy)):
                return self._ask(visit, lost)
            self.services.data_policies.put(project_id=visit.project_id, policy=policy, actor=visit.actor)
        except Invalid as error:
            raise Invalid(_labelled(str(error))) from error
        return Redirect(f"{visit.base}/settings/data", "Saved.")

    def _rules(self, visit: Visit) -> tuple[Rules, int | None]:
        """Return the sent rules to show again, like `_edited`. A problem numbers the rules that have a value."""
        if visit.problem:
            return policy_body(visit.form)["masking"], None
        return _edited(sent_rules(visit.form), visit.form.text("do"))

    def _lost(self, visit: Visit, policy: DataPolicy) -> list[str]:
        """Return the stored rows that the policy would remove, in words; empty if it keeps data at least as long."""
        old = self.services.data_policies.get(project_id=visit.project_id)
        changed = {name: getattr(policy, name) for _, name, _ in DAYS if getattr(policy, name) != getattr(old, name)}
        counts = self.services.data_policies.expired(project_id=visit.project_id, policy=DataPolicy(**changed))
        return [_counted(count, LOST[table]) for table, count in counts.items()]

    def _ask(self, visit: Visit, lost: list[str]) -> Reply:
        form = visit.form
        sent: dict[str, Any] = {field: form.text(field) for field, _, _ in DAYS}
        sent |= {name: form.texts(name) for name in ("kind", "value", "replacement")}
        return confirm(
            visit,
            title="Delete what is older?",
            text=f"These are older than the days that you set, and are deleted soon after you save: {', '.join(lost)}. "
            "They can't be brought back.",
            button="Save and delete",
            back=f"{visit.base}/settings/data",
            confirmed="yes",
            **sent,
        )


def _counted(count: int, noun: str) -> str:
    return plural(count, noun) if count < COUNTED_MAX else f"more than {plural(COUNTED_MAX - 1, noun)}"


def sent_rules(form: Form) -> Rules:
    """Return the masking rules of a form, also those without a value."""
    rules = zip(form.texts("kind"), form.texts("value"), form.texts("replacement"), strict=False)
    return [dict(zip(("kind", "value", "replacement"), rule, strict=True)) for rule in rules]


def _edited(rules: Rules, do: str) -> tuple[Rules, int | None]:
    """Return the rules after "add" or "remove.<index>", and the index of the rule that gets the focus.

    This index is the number of rules if the button that adds one gets the focus, and None if nothing changed.
    """
    action, _, index = do.partition(".")
    if action == "add" and len(rules) < RULES_MAX:
        return [*rules, {"kind": "pattern", "value": "", "replacement": MASK}], len(rules)
    if action == "remove" and index.isascii() and index.isdigit() and len(index) < 4 and int(index) < len(rules):
        left = [rule for at, rule in enumerate(rules) if at != int(index)]
        return left, int(index)
    return rules, None


def policy_body(form: Form) -> dict[str, Any]:
    """Return the API's body. An empty number of days means forever; a rule without a value is omitted."""
    return {
        "retentionDays": {field: _days(form.text(field).strip()) for field, _, _ in DAYS},
        "masking": [rule for rule in sent_rules(form) if rule["value"].strip()],
    }


def _days(text: str) -> int | str | None:
    """Return a number, or the unchanged text, which the schema then refuses with the field's name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text or None


def _labelled(problem: str) -> str:
    """Return the message with the page's label instead of the path in the body."""
    path, _, message = problem.partition(": ")
    match path.split("."):
        case ["masking", index, *_] if index.isdigit():
            return f"Rule {int(index) + 1}: {message}"
        case ["retentionDays", field]:
            return next((f"{label}: {message}" for name, _, label in DAYS if name == field), problem)
    return problem


class Audit(SettingsPage):
    def get(self, visit: Visit) -> Reply:
        page = self.services.audit.page(
            organization_id=visit.organization_id, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        # Entries have only the id of a test case, because its name may be a user's question, which can be erased.
        ids = {
            entry.id: int(entry.subject)
            for entry in page.entries
            if entry.project_id == visit.project_id and entry.action in TEST_CASE_ACTIONS
        }
        names = self.services.test_cases.names(project_id=visit.project_id, ids=set(ids.values()))
        cases = {entry_id: (case_id, names[case_id]) for entry_id, case_id in ids.items() if case_id in names}
        metrics = dict(METRICS)
        subjects = {
            entry.id: metrics[entry.subject].lower()
            for entry in page.entries
            if entry.action in ALERT_RULE_ACTIONS and entry.subject in metrics
        }
        return show(
            "settings_audit.html",
            entries=page.entries,
            cases=cases,
            subjects=subjects,
            pages=visit.pages(page.next_cursor),
        )
