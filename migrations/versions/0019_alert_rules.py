"""alert rules

Revision 0019, after 0018.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "alert_rules",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.Column("metric", types.exact(16), nullable=False),
        sa.Column("threshold", sa.Double, nullable=False),
        sa.Column("window_minutes", sa.Integer, nullable=False),
        sa.Column("min_sessions", sa.Integer, nullable=False),
        sa.Column("firing_since", types.Timestamp, nullable=True),
        sa.Column("value", sa.Double, nullable=True),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_alert_rules_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rules")),
        **OPTIONS,
    )
    op.create_index("ix_alert_rules_project_id", "alert_rules", ["project_id"])
    op.create_index("ix_alert_rules_prompt_id", "alert_rules", ["prompt_id"])


def downgrade() -> None:
    op.drop_table("alert_rules")
