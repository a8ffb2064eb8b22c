"""An organization: projects with API keys and data policies, members, invitations and the audit log."""

from __future__ import annotations

from typing import Any, NamedTuple

from marshmallow import fields, post_load, validate

from app.models import api_keys, audit_log, organizations
from app.models import data_policies as policies
from app.otlp.masking import MASK, RULES_MAX
from app.schemas.answer import (
    AnswerSchema,
    choice,
    fields_of,
    integer,
    itself,
    listing,
    many,
    mapping,
    one,
    part,
    text,
    time,
)
from app.schemas.base import BoundedList, Moment, StrictSchema, Text
from app.services.accounts.keys import SCOPES
from app.services.accounts.projects import PROJECT_NAME_MAX
from app.services.accounts.service import EMAIL_MAX
from app.values.regex import LONGEST_PATTERN


class ProjectSchema(StrictSchema):
    name = Text(required=True, minimum=1, maximum=PROJECT_NAME_MAX, trim=True)


class RoleSchema(StrictSchema):
    role = fields.Enum(organizations.Role, by_value=fields.String, required=True)


class NewInvitationSchema(RoleSchema):
    email = Text(required=True, maximum=EMAIL_MAX)


class ProjectAnswerSchema(AnswerSchema):
    row = fields_of(organizations.Project, "id", "name", "created_at")


class MemberSchema(AnswerSchema):
    row = fields_of(organizations.Member, "user_id", "name", "email", "role", "created_at")


class InvitationSchema(AnswerSchema):
    row = fields_of(organizations.Invitation, "id", "email", "role", "created_at", "expires_at")


Projects = listing("projects", ProjectAnswerSchema)
Members = listing("members", MemberSchema)
Invitations = listing("invitations", InvitationSchema)


class NewInvitation(NamedTuple):
    """An invitation with its secret token."""

    invitation: organizations.Invitation
    token: str


class CreatedInvitation(AnswerSchema):
    invitation = part(InvitationSchema, "invitation")
    path = text(get=lambda new: f"/join/{new.token}")


class AuditActor(AnswerSchema):
    kind = choice("user", "api_key", "system", attribute="actor_kind")
    name = text(attribute="actor_name")


class AuditEntrySchema(AnswerSchema):
    head = fields_of(audit_log.AuditEntry, "id", "project_id")
    actor = one(AuditActor, get=itself)
    event = fields_of(audit_log.AuditEntry, "action", "subject")
    details = mapping()
    created_at = time()


AuditLog = listing("entries", AuditEntrySchema, name="AuditLog", paged=True)


class NewKeySchema(StrictSchema):
    """Without `scopes` the new key gets the scopes of the key that makes it, except `admin`."""

    name = Text(required=True, minimum=1, maximum=PROJECT_NAME_MAX, trim=True)
    scopes = BoundedList(
        fields.String(validate=validate.OneOf(sorted(SCOPES))), minimum=1, maximum=len(SCOPES), into=frozenset
    )
    expires_at = Moment(allow_none=True)


class ApiKeySchema(AnswerSchema):
    row = fields_of(api_keys.ApiKey, "id", "name", "last_four")
    scopes = many(choice(*sorted(SCOPES)), get=lambda key: sorted(key.scopes))
    times = fields_of(api_keys.ApiKey, "created_at", "expires_at", "revoked_at", "last_used_at")


class MadeKey(NamedTuple):
    """A new key with its secret."""

    key: api_keys.ApiKey
    secret: str


class CreatedApiKey(AnswerSchema):
    api_key = part(ApiKeySchema, "key")
    key = text(attribute="secret")


ApiKeys = listing("api_keys", ApiKeySchema)


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
    """Days. Null or omitted: kept forever."""

    spans_days = _days(data_key="spans")
    runs_days = _days(data_key="runs")
    replays_days = _days(data_key="replays")
    rejected_days = _days(data_key="rejectedSpans")


class DataPolicySchema(StrictSchema):
    """The whole policy. Omitted fields get their defaults."""

    retention_days = fields.Nested(RetentionSchema, load_default=dict)
    masking = BoundedList(fields.Nested(RuleSchema), maximum=RULES_MAX, load_default=list)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> policies.DataPolicy:
        return policies.DataPolicy(**data["retention_days"], masking=data["masking"])


class RetentionDays(AnswerSchema):
    spans = integer(attribute="spans_days", allow_none=True)
    runs = integer(attribute="runs_days", allow_none=True)
    replays = integer(attribute="replays_days", allow_none=True)
    rejected_spans = integer(attribute="rejected_days", allow_none=True)


class MaskingRule(AnswerSchema):
    kind = choice("pattern", "pointer")
    value = text()
    replacement = text()


class DataPolicyAnswerSchema(AnswerSchema):
    retention_days = one(RetentionDays, get=itself)
    masking = many(MaskingRule)
