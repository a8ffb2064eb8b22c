"""labels of prompts, and the versions that they have pointed to

Revision 0009, after 0008.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("prompts", sa.Column("labels", types.Json(), nullable=True))
    op.create_table(
        "label_versions",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("label", types.exact(64), nullable=False),
        sa.Column("commit_hash", types.exact(64), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_label_versions_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_versions")),
        sa.UniqueConstraint(
            "prompt_id", "label", "commit_hash", name=op.f("uq_label_versions_prompt_id_label_commit_hash")
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )


def downgrade() -> None:
    op.drop_table("label_versions")
    op.drop_column("prompts", "labels")
