"""schedules of experiments, and their runs

Revision 0042, after 0041.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("kind", types.exact(16), nullable=False),
        sa.Column("cron", types.exact(100), nullable=False),
        sa.Column("timezone", types.exact(64), nullable=False),
        sa.Column("suite", types.exact(100), nullable=True),
        sa.Column("repeats", sa.Integer(), nullable=True),
        sa.Column("max_cost", sa.Double(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("since", types.Timestamp(), nullable=False),
        sa.Column("served_at", types.Timestamp(), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("lock_count", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_schedules_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_schedules_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        **_OPTIONS,
    )
    for column in ("project_id", "prompt_id"):
        op.create_index(f"ix_schedules_{column}", "schedules", [column])
    op.create_table(
        "schedule_runs",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("schedule_id", types.BigInt, nullable=False),
        sa.Column("due_at", types.Timestamp(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("experiment_id", types.BigInt, nullable=True),
        sa.Column("reason", types.MediumText, nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_schedule_runs_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_schedule_runs_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule_runs")),
        sa.UniqueConstraint("schedule_id", "due_at", name=op.f("uq_schedule_runs_schedule_id_due_at")),
        **_OPTIONS,
    )
    op.create_index("ix_schedule_runs_prompt_id", "schedule_runs", ["prompt_id"])
    op.create_index("ix_schedule_runs_project_id_created_at", "schedule_runs", ["project_id", "created_at"])


def downgrade() -> None:
    for table in ("schedule_runs", "schedules"):
        op.drop_table(table)
