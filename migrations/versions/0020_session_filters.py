"""saved filters of the list of sessions

Revision 0020, after 0019.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "session_filters",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.Column("name", types.exact(100), nullable=False),
        sa.Column("filters", types.Json, nullable=False),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_session_filters_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session_filters")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_session_filters_project_id_name")),
        **OPTIONS,
    )
    op.create_index("ix_session_filters_prompt_id", "session_filters", ["prompt_id"])


def downgrade() -> None:
    op.drop_table("session_filters")
