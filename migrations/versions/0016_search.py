"""the words of what traces say

Revision 0016, after 0015.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types
from app.models.search import EVERYTHING

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "search_words",
        sa.Column("project_id", types.BigInt, autoincrement=False, nullable=False),
        sa.Column("bucket", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("block", types.BigInt, autoincrement=False, nullable=False),
        sa.Column("words", types.MediumBlob, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "bucket", "block", name=op.f("pk_search_words")),
        sqlite_with_rowid=False,
        **OPTIONS,
    )
    waiting = op.create_table(
        "search_waiting",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("block", types.BigInt, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_waiting")),
        **OPTIONS,
    )
    op.create_index("ix_search_waiting_project_id_block", "search_waiting", ["project_id", "block"])
    # The clock reads what is stored already.
    project_id, block = EVERYTHING
    op.bulk_insert(waiting, [{"project_id": project_id, "block": block}])


def downgrade() -> None:
    op.drop_table("search_waiting")
    op.drop_table("search_words")
