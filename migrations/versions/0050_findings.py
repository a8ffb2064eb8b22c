"""what people decide about findings

Revision 0050, after 0049.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

_OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "findings",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("digest", types.binary(16), nullable=False),
        sa.Column("subject", types.MediumText, nullable=False),
        sa.Column("state", types.exact(16), nullable=False),
        sa.Column("assignee_id", types.BigInt, nullable=True),
        sa.Column("solved_version", types.exact(64), nullable=True),
        sa.Column("solved_at", types.Timestamp(), nullable=True),
        sa.Column("changed_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_findings_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_findings_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
        sa.UniqueConstraint("prompt_id", "digest", name=op.f("uq_findings_prompt_id_digest")),
        **_OPTIONS,
    )
    op.create_index("ix_findings_project_id_changed_at", "findings", ["project_id", "changed_at"])


def downgrade() -> None:
    op.drop_table("findings")
