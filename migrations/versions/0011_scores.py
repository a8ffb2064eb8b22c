"""scores of spans

Revision 0011, after 0010.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "scores",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("digest", types.binary(16), nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.Column("trace_id", types.binary(16), nullable=True),
        sa.Column("span_id", types.binary(8), nullable=True),
        sa.Column("time_ns", types.BigInt, nullable=False),
        sa.Column("name", types.exact(255), nullable=False),
        sa.Column("value", sa.Double, nullable=True),
        sa.Column("label", sa.String(255), nullable=True),
        sa.Column("comment", types.MediumText, nullable=True),
        sa.Column("source", types.exact(16), nullable=False),
        sa.Column("waiting_since", types.BigInt, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scores")),
        sa.UniqueConstraint("project_id", "digest", name=op.f("uq_scores_project_id_digest")),
        **OPTIONS,
    )
    op.create_index("ix_scores_project_id_trace_id_span_id", "scores", ["project_id", "trace_id", "span_id"])
    op.create_index("ix_scores_prompt_id", "scores", ["prompt_id"])
    op.create_index("ix_scores_waiting_since", "scores", ["waiting_since"])


def downgrade() -> None:
    op.drop_table("scores")
