"""figures of sessions by prompt, day, version and model

Revision 0017, after 0016.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}
INDEX = "ix_sessions_project_id_uncounted"


def upgrade() -> None:
    op.create_table(
        "insight_daily",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("version", types.exact(255), nullable=False),
        sa.Column("model", types.exact(255), nullable=False),
        sa.Column("figures", types.MediumBlob, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_insight_daily")),
        sa.UniqueConstraint("project_id", "prompt_id", "day", "version", "model", name=op.f("uq_insight_daily")),
        **OPTIONS,
    )
    with op.batch_alter_table("sessions") as sessions:
        # 1: the clock counts what is stored already.
        sessions.add_column(sa.Column("uncounted", types.BigInt, nullable=True, server_default="1"))
        sessions.add_column(sa.Column("counted", types.MediumBlob, nullable=True))
    op.create_index(INDEX, "sessions", ["project_id", "uncounted"])


def downgrade() -> None:
    op.drop_index(INDEX, "sessions")
    with op.batch_alter_table("sessions") as sessions:
        for name in ("uncounted", "counted"):
            sessions.drop_column(name)
    op.drop_table("insight_daily")
