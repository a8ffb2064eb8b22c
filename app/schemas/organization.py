"""An organization's projects with their API keys and data policies, its members, invitations and audit log."""

from __future__ import annotations

from typing import Any, NamedTuple

from marshmallow import fields, post_load, validate

from app.models import api_keys, organizations
from app.models import data_policies as policies
from app.models.organizations import Role
from app.otlp.masking import MASK, RULES_MAX
from app.patterns import LONGEST_PATTERN
from app.schemas.answer import Answer, choice, integer, itself, many, mapping, one, part, text, time
from app.schemas.base import BoundedList, Moment, StrictSchema, Text
from app.services.accounts.keys import SCOPES
from app.services.accounts.projects import NAME_MAX
from app.services.accounts.service import EMAIL_MAX

ROLES = tuple(role.value for role in Role)


class ProjectSchema(StrictSchema):
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)


class RoleSchema(StrictSchema):
    role = fields.String(required=True, validate=validate.OneOf(ROLES))

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return data | {"role": Role(data["role"])}


class NewInvitationSchema(RoleSchema):
    email = Text(required=True, maximum=EMAIL_MAX)


class Project(Answer):
    id = integer()
    name = text()
    created_at = time()


class Projects(Answer):
    projects = many(Project, get=itself)


class Member(Answer):
    user_id = integer()
    name = text()
    email = text()
    role = choice(*ROLES)
    created_at = time()


class Members(Answer):
    members = many(Member, get=itself)


class Invitation(Answer):
    id = integer()
    email = text()
    role = choice(*ROLES)
    created_at = time()
    expires_at = time()


class Invitations(Answer):
    invitations = many(Invitation, get=itself)


class NewInvitation(NamedTuple):
    """An invitation with its secret token."""

    invitation: organizations.Invitation
    token: str


class CreatedInvitation(Answer):
    invitation = part(Invitation, "invitation")
    path = text(get=lambda new: f"/join/{new.token}")


class AuditActor(Answer):
    kind = choice("user", "api_key", "system", attribute="actor_kind")
    name = text(attribute="actor_name")


class AuditEntry(Answer):
    id = integer()
    project_id = integer(allow_none=True)
    actor = one(AuditActor, get=itself)
    action = text()
    subject = text()
    details = mapping()
    created_at = time()


class AuditLog(Answer):
    entries = many(AuditEntry)
    next_cursor = text(allow_none=True)


class NewKeySchema(StrictSchema):
    """Without `scopes` the new key has the scopes of the key that makes it, except `admin`."""

    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    scopes = BoundedList(
        fields.String(validate=validate.OneOf(sorted(SCOPES))), minimum=1, maximum=len(SCOPES), into=frozenset
    )
    expires_at = Moment(allow_none=True)


class ApiKey(Answer):
    id = integer()
    name = text()
    last_four = text()
    scopes = many(choice(*sorted(SCOPES)), get=lambda key: sorted(key.scopes))
    created_at = time()
    expires_at = time(allow_none=True)
    revoked_at = time(allow_none=True)
    last_used_at = time(allow_none=True)


class MadeKey(NamedTuple):
    """A new key with its secret."""

    key: api_keys.ApiKey
    secret: str


class CreatedApiKey(Answer):
    api_key = part(ApiKey, "key")
    key = text(attribute="secret")


class ApiKeys(Answer):
    api_keys = many(ApiKey, get=itself)


DAYS_MAX = 36_500


class RuleSchema(StrictSchema):
    kind = fields.String(required=True, validate=validate.OneOf(["pattern", "pointer"]))
    value = Text(required=True, minimum=1, maximum=LONGEST_PATTERN)
    replacement = Text(maximum=100, load_default=MASK)


def _days(**options: Any) -> fields.Integer:
    return fields.Integer(
        strict=True, allow_none=True, load_default=None, validate=validate.Range(1, DAYS_MAX), **options
    )


class RetentionSchema(StrictSchema):
    """Days; null, or left out, for ever."""

    spans_days = _days(data_key="spans")
    runs_days = _days(data_key="runs")
    replays_days = _days(data_key="replays")
    rejected_days = _days(data_key="rejectedSpans")


class DataPolicySchema(StrictSchema):
    """The whole policy: what is left out is what it was by default."""

    retention_days = fields.Nested(RetentionSchema, load_default=dict)
    masking = BoundedList(fields.Nested(RuleSchema), maximum=RULES_MAX, load_default=list)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> policies.DataPolicy:
        return policies.DataPolicy(**data["retention_days"], masking=data["masking"])


class RetentionDays(Answer):
    spans = integer(attribute="spans_days", allow_none=True)
    runs = integer(attribute="runs_days", allow_none=True)
    replays = integer(attribute="replays_days", allow_none=True)
    rejected_spans = integer(attribute="rejected_days", allow_none=True)


class MaskingRule(Answer):
    kind = choice("pattern", "pointer")
    value = text()
    replacement = text()


class DataPolicy(Answer):
    retention_days = one(RetentionDays, get=itself)
    masking = many(MaskingRule)
