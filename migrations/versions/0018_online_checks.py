"""online checks

Revision 0018, after 0017.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "online_checks",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("name", types.exact(255), nullable=False),
        sa.Column("kind", types.exact(16), nullable=False),
        sa.Column("value", types.MediumText, nullable=False),
        sa.Column("judge_model_id", types.BigInt, nullable=True),
        sa.Column("share", sa.Double, nullable=False),
        sa.Column("version", types.exact(255), nullable=True),
        sa.Column("model", types.exact(255), nullable=True),
        sa.Column("max_cost_per_day", sa.Double, nullable=False),
        sa.Column("position", types.BigInt, nullable=False),
        sa.Column("position_id", types.BigInt, nullable=False),
        sa.Column("scored", types.BigInt, nullable=False),
        sa.Column("spent_on", types.exact(10), nullable=False),
        sa.Column("spent_usd", sa.Double, nullable=False),
        sa.Column("problem", sa.String(1000), nullable=True),
        sa.Column("held_until", types.Timestamp, nullable=False),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_online_checks")),
        **OPTIONS,
    )
    op.create_index("ix_online_checks_prompt_id", "online_checks", ["prompt_id"])


def downgrade() -> None:
    op.drop_table("online_checks")
