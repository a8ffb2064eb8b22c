"""log records that say what was said in a model call

Revision 0010, after 0009.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "log_records",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("trace_id", types.binary(16), nullable=False),
        sa.Column("span_id", types.binary(8), nullable=False),
        sa.Column("digest", types.binary(16), nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.Column("time_ns", types.BigInt, nullable=False),
        sa.Column("body", types.MediumBlob, nullable=False),
        sa.Column("waiting_since", types.BigInt, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_records")),
        sa.UniqueConstraint(
            "project_id",
            "trace_id",
            "span_id",
            "digest",
            name=op.f("uq_log_records_project_id_trace_id_span_id_digest"),
        ),
        **OPTIONS,
    )
    op.create_index("ix_log_records_prompt_id", "log_records", ["prompt_id"])
    op.create_index("ix_log_records_waiting_since", "log_records", ["waiting_since"])


def downgrade() -> None:
    op.drop_table("log_records")
