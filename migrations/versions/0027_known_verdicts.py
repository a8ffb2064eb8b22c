"""the verdicts that are known

Revision 0027, after 0026.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types
from app.models.base import OPTIONS

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "known_verdicts",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("digest", types.exact(64), nullable=False),
        sa.Column("decided_by", types.exact(8), nullable=False),
        sa.Column("verdict", types.exact(8), nullable=False),
        sa.Column("findings", types.Json, nullable=False),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_known_verdicts_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_known_verdicts_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_known_verdicts")),
        sa.UniqueConstraint("test_case_id", "digest", name=op.f("uq_known_verdicts_test_case_id_digest")),
        **OPTIONS,
    )
    op.create_index("ix_known_verdicts_prompt_id", "known_verdicts", ["prompt_id"])
    op.create_index("ix_known_verdicts_project_id_created_at", "known_verdicts", ["project_id", "created_at"])


def downgrade() -> None:
    op.drop_table("known_verdicts")
