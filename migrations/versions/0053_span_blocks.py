"""bodies of the spans of conversations, compressed together

Revision 0053, after 0052.
"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

from app.models import base as types

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

_OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "span_blocks",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("traces", types.MediumBlob, nullable=False),
        sa.Column("body", types.MediumBlob, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_span_blocks")),
        **_OPTIONS,
    )
    op.add_column("projects", sa.Column("packed_until", types.BigInt, nullable=True))


def downgrade() -> None:
    # The rows of packed spans have no bodies any more.
    if op.get_bind().scalar(sa.text("SELECT 1 FROM span_blocks LIMIT 1")):
        raise CommandError(
            "Spans of this database are packed, and a downgrade would lose what they contain. Leave the schema as it "
            "is, or restore a backup of the earlier release."
        )
    op.drop_column("projects", "packed_until")
    op.drop_table("span_blocks")
