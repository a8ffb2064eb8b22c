"""the audits of judges

Revision 0029, after 0028.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types
from app.models.base import OPTIONS

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "judge_audits",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("status", types.exact(16), nullable=False),
        sa.Column("judge_model_id", types.BigInt, nullable=True),
        sa.Column("draft_snapshot_id", types.BigInt, nullable=False),
        sa.Column("seed", types.exact(64), nullable=False),
        sa.Column("probes", sa.Integer, nullable=False),
        sa.Column("max_cost", sa.Float, nullable=True),
        sa.Column("basis", types.LongJson, nullable=False),
        sa.Column("figures", types.Json, nullable=True),
        sa.Column("done", sa.Integer, server_default="0", nullable=False),
        sa.Column("total", sa.Integer, server_default="0", nullable=False),
        sa.Column("error", types.MediumText, nullable=True),
        sa.Column("prompt_cost_usd", sa.Float, server_default="0", nullable=False),
        sa.Column("completion_cost_usd", sa.Float, server_default="0", nullable=False),
        sa.Column("claim", types.exact(36), nullable=True),
        sa.Column("attempts", sa.Integer, server_default="0", nullable=False),
        sa.Column("alive_at", types.Timestamp, nullable=True),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.Column("started_at", types.Timestamp, nullable=True),
        sa.Column("finished_at", types.Timestamp, nullable=True),
        sa.Column("snapshots", types.LongJson, nullable=False),
        sa.Column("drawn", types.LongJson, nullable=True),
        sa.Column("verdicts", types.LongJson, nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_judge_audits_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_judge_audits_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_audits")),
        **OPTIONS,
    )
    op.create_index("ix_judge_audits_prompt_id_id", "judge_audits", ["prompt_id", "id"])
    op.create_index("ix_judge_audits_project_id_created_at", "judge_audits", ["project_id", "created_at"])
    op.create_index("ix_judge_audits_status_created_at", "judge_audits", ["status", "created_at"])


def downgrade() -> None:
    op.drop_table("judge_audits")
