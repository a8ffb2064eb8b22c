"""replays

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "draft_snapshots",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("fingerprint", types.exact(64), nullable=False),
        sa.Column("value", types.MediumText, nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("config", types.Json(), nullable=False),
        sa.Column("placeholders", types.Json(), nullable=False),
        sa.Column("instruction_format", types.exact(8), nullable=False),
        sa.ForeignKeyConstraint(
            ["language_model_id"], ["language_models.id"], name=op.f("fk_draft_snapshots_language_model_id")
        ),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_draft_snapshots_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draft_snapshots")),
        sa.UniqueConstraint("prompt_id", "fingerprint", name=op.f("uq_draft_snapshots_prompt_id_fingerprint")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_draft_snapshots_language_model_id", "draft_snapshots", ["language_model_id"])

    op.create_table(
        "test_cases",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("session_id", types.exact(32), nullable=True),
        sa.Column("document", types.Json(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("updated_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_test_cases_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_test_cases_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_cases")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_test_cases_project_id", "test_cases", ["project_id"])
    op.create_index("ix_test_cases_prompt_id_id", "test_cases", ["prompt_id", "id"])

    op.create_table(
        "replays",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.Column("draft_snapshot_id", types.BigInt, nullable=False),
        sa.Column("judge_model_id", types.BigInt, nullable=True),
        sa.Column("status", types.exact(16), nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("counts", types.Json(), nullable=True),
        sa.Column("result", types.LongJson(), nullable=True),
        sa.Column("error", types.MediumText, nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("prompt_cost_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("completion_cost_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("claim", types.exact(36), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("alive_at", types.Timestamp(), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("started_at", types.Timestamp(), nullable=True),
        sa.Column("finished_at", types.Timestamp(), nullable=True),
        sa.ForeignKeyConstraint(
            ["draft_snapshot_id"], ["draft_snapshots.id"], name=op.f("fk_replays_draft_snapshot_id")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_replays_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_replays_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replays")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_replays_draft_snapshot_id", "replays", ["draft_snapshot_id"])
    op.create_index("ix_replays_project_id_created_at", "replays", ["project_id", "created_at"])
    op.create_index("ix_replays_prompt_id_id", "replays", ["prompt_id", "id"])
    op.create_index("ix_replays_status_created_at", "replays", ["status", "created_at"])
    op.create_index("ix_replays_test_case_id_id", "replays", ["test_case_id", "id"])

    op.add_column("prompt_versions", sa.Column("content_hash", types.exact(64), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("prompt_versions", "content_hash")
    op.drop_table("replays")
    op.drop_table("test_cases")
    op.drop_table("draft_snapshots")
