"""agents that their traces made into prompts

Revision 0035, after 0034.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("name", types.exact(64), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("adopted_at", types.Timestamp(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_agents_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_agents_project_id_name")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_agents_prompt_id", "agents", ["prompt_id"])


def downgrade() -> None:
    op.drop_table("agents")
