"""main job

Revision 0001, after .
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "language_models",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, server_default="0", nullable=False),
        sa.Column("vendor", types.exact(64), nullable=False),
        sa.Column("name", types.exact(128), nullable=False),
        sa.Column("base_url", sa.String(length=512), server_default="", nullable=False),
        sa.Column("prompt_price", sa.Float(), nullable=False),
        sa.Column("completion_price", sa.Float(), nullable=False),
        sa.Column("context_tokens_max", sa.Integer(), nullable=False),
        sa.Column("completion_tokens_max", sa.Integer(), nullable=False),
        sa.Column("description", types.MediumText, nullable=False),
        sa.Column("details", types.Json(), nullable=False),
        sa.Column("retired", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("updated_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_language_models")),
        sa.UniqueConstraint(
            "organization_id", "vendor", "name", name=op.f("uq_language_models_organization_id_vendor_name")
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_table(
        "organizations",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_table(
        "rejected_spans",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.Column("span_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("code", types.exact(32), nullable=False),
        sa.Column("reason", sa.String(length=1000), nullable=False),
        sa.Column("received_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rejected_spans")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("rejected_spans", schema=None) as batch_op:
        batch_op.create_index("ix_rejected_spans_project_id_id", ["project_id", "id"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("session_key", types.binary(16), nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("conversation_id", types.exact(512), nullable=True),
        sa.Column("start_ns", types.BigInt, nullable=False),
        sa.Column("last_ns", types.BigInt, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("session_key", name=op.f("uq_sessions_session_key")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index("ix_sessions_prompt_id_start_ns_id", ["prompt_id", "start_ns", "id"], unique=False)

    op.create_table(
        "spans",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("trace_id", types.binary(16), nullable=False),
        sa.Column("span_id", types.binary(8), nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("batch_id", types.BigInt, nullable=False),
        sa.Column("scope", sa.String(length=255), nullable=False),
        sa.Column("body", types.MediumBlob, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spans")),
        sa.UniqueConstraint("project_id", "trace_id", "span_id", name=op.f("uq_spans_project_id_trace_id_span_id")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_table(
        "turns",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("trace_id", types.binary(16), nullable=False),
        sa.Column("session_key", types.binary(16), nullable=False),
        sa.Column("start_ns", types.BigInt, nullable=False),
        sa.Column("end_ns", types.BigInt, nullable=False),
        sa.Column("opening", sa.String(length=300), nullable=True),
        sa.Column("facts", types.MediumBlob, nullable=False),
        sa.Column("batch_id", types.BigInt, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
        sa.UniqueConstraint("prompt_id", "trace_id", name=op.f("uq_turns_prompt_id_trace_id")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.create_index("ix_turns_session_key_start_ns", ["session_key", "start_ns"], unique=False)

    op.create_table(
        "model_choices",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("disabled", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("is_default", sa.Boolean(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["language_model_id"], ["language_models.id"], name=op.f("fk_model_choices_language_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_model_choices_organization_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_choices")),
        sa.UniqueConstraint(
            "organization_id", "language_model_id", name=op.f("uq_model_choices_organization_id_language_model_id")
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("model_choices", schema=None) as batch_op:
        batch_op.create_index("ix_model_choices_language_model_id", ["language_model_id"], unique=False)

    op.create_table(
        "projects",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name=op.f("fk_projects_organization_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("projects", schema=None) as batch_op:
        batch_op.create_index("ix_projects_organization_id", ["organization_id"], unique=False)

    op.create_table(
        "vendor_credentials",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("vendor", types.exact(64), nullable=False),
        sa.Column("encrypted_key", types.MediumText, nullable=False),
        sa.Column("base_url", sa.String(length=512), server_default="", nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_vendor_credentials_organization_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vendor_credentials")),
        sa.UniqueConstraint("organization_id", "vendor", name=op.f("uq_vendor_credentials_organization_id_vendor")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_table(
        "api_keys",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("last_four", sa.String(length=4), nullable=False),
        sa.Column("scopes", sa.String(length=64), server_default="run,read,write,ingest", nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("expires_at", types.Timestamp(), nullable=True),
        sa.Column("revoked_at", types.Timestamp(), nullable=True),
        sa.Column("last_used_at", types.Timestamp(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_api_keys_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.create_index("ix_api_keys_project_id", ["project_id"], unique=False)

    op.create_table(
        "prompts",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("instruction_format", types.exact(8), nullable=False),
        sa.Column("assertion_type", types.exact(16), server_default="STRICT", nullable=False),
        sa.Column("assertion_value", types.MediumText, nullable=False),
        sa.Column("value", types.MediumText, nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("config", types.Json(), nullable=False),
        sa.Column("placeholders", types.Json(), nullable=False),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("newest_version_id", types.BigInt, nullable=True),
        sa.Column("committed", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("archived_at", types.Timestamp(), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("updated_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(
            ["language_model_id"], ["language_models.id"], name=op.f("fk_prompts_language_model_id")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_prompts_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompts")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("prompts", schema=None) as batch_op:
        batch_op.create_index("ix_prompts_language_model_id", ["language_model_id"], unique=False)
        batch_op.create_index("ix_prompts_project_id_archived_at", ["project_id", "archived_at"], unique=False)

    op.create_table(
        "prompt_versions",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("commit_hash", types.exact(64), nullable=False),
        sa.Column("parent_hash", types.exact(64), nullable=True),
        sa.Column("value", types.MediumText, nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("config", types.Json(), nullable=False),
        sa.Column("placeholders", types.Json(), nullable=False),
        sa.Column("message", sa.String(length=500), nullable=False),
        sa.Column("author_id", types.BigInt, nullable=True),
        sa.Column("author_name", sa.String(length=128), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(
            ["language_model_id"], ["language_models.id"], name=op.f("fk_prompt_versions_language_model_id")
        ),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_prompt_versions_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_versions")),
        sa.UniqueConstraint("prompt_id", "commit_hash", name=op.f("uq_prompt_versions_prompt_id_commit_hash")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("prompt_versions", schema=None) as batch_op:
        batch_op.create_index("ix_prompt_versions_language_model_id", ["language_model_id"], unique=False)

    op.create_table(
        "runs",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("api_key_id", types.BigInt, nullable=True),
        sa.Column("source", types.exact(8), nullable=False),
        sa.Column("status", types.exact(16), nullable=False),
        sa.Column("commit_hash", types.exact(64), nullable=True),
        sa.Column("request", types.Json(), nullable=False),
        sa.Column("question", types.MediumText, nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("instruction", types.MediumText, nullable=True),
        sa.Column("answer", types.MediumText, nullable=True),
        sa.Column("outcome", types.Json(), nullable=True),
        sa.Column("nok", types.MediumText, nullable=True),
        sa.Column("error", types.MediumText, nullable=True),
        sa.Column("error_kind", types.exact(32), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("response_time_ms", sa.Integer(), nullable=True),
        sa.Column("claim", types.exact(36), nullable=True),
        sa.Column("alive_at", types.Timestamp(), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("started_at", types.Timestamp(), nullable=True),
        sa.Column("finished_at", types.Timestamp(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_runs_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_runs_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_project_id_created_at", ["project_id", "created_at"], unique=False)
        batch_op.create_index("ix_runs_prompt_id_created_at_id", ["prompt_id", "created_at", "id"], unique=False)
        batch_op.create_index("ix_runs_status_created_at", ["status", "created_at"], unique=False)

    op.create_table(
        "idempotency_keys",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("api_key_id", types.BigInt, nullable=False),
        sa.Column("key_digest", types.binary(32), nullable=False),
        sa.Column("body_digest", types.binary(32), nullable=False),
        sa.Column("run_id", types.BigInt, nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["api_key_id"], ["api_keys.id"], name=op.f("fk_idempotency_keys_api_key_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_idempotency_keys_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_keys")),
        sa.UniqueConstraint("api_key_id", "key_digest", name=op.f("uq_idempotency_keys_api_key_id_key_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index("ix_idempotency_keys_created_at", ["created_at"], unique=False)
        batch_op.create_index("ix_idempotency_keys_run_id", ["run_id"], unique=False)

    op.create_table(
        "run_file_chunks",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("run_id", types.BigInt, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("content", types.MediumBlob, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_file_chunks_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_file_chunks")),
        sa.UniqueConstraint("run_id", "position", "chunk", name=op.f("uq_run_file_chunks_run_id_position_chunk")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )


def downgrade() -> None:
    op.drop_table("run_file_chunks")
    op.drop_table("idempotency_keys")
    op.drop_table("runs")
    op.drop_table("prompt_versions")
    op.drop_table("prompts")
    op.drop_table("api_keys")
    op.drop_table("vendor_credentials")
    op.drop_table("projects")
    op.drop_table("model_choices")
    op.drop_table("turns")
    op.drop_table("spans")
    op.drop_table("sessions")
    op.drop_table("rejected_spans")
    op.drop_table("organizations")
    op.drop_table("language_models")
