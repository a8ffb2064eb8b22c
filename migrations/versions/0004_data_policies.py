"""data policies

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "data_policies",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("spans_days", sa.Integer(), nullable=True),
        sa.Column("runs_days", sa.Integer(), nullable=True),
        sa.Column("replays_days", sa.Integer(), nullable=True),
        sa.Column("rejected_days", sa.Integer(), nullable=True),
        sa.Column("masking", types.Json(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_data_policies_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_policies")),
        sa.UniqueConstraint("project_id", name=op.f("uq_data_policies_project_id")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.add_column("projects", sa.Column("erased_at", types.Timestamp(), nullable=True))
    op.add_column("prompts", sa.Column("erased_at", types.Timestamp(), nullable=True))
    op.create_index("ix_turns_project_id_batch_id", "turns", ["project_id", "batch_id"])


def downgrade() -> None:
    op.drop_index("ix_turns_project_id_batch_id", table_name="turns")
    op.drop_column("prompts", "erased_at")
    op.drop_column("projects", "erased_at")
    op.drop_table("data_policies")
