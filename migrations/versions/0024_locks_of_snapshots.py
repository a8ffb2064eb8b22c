"""locks of snapshots of test cases that all nodes of a cluster see

Revision 0024, after 0023.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("case_snapshots") as altered:
        altered.add_column(sa.Column("lock_count", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    # SQLite makes the table anew, and must go on to give no id twice.
    with op.batch_alter_table("case_snapshots", table_kwargs={"sqlite_autoincrement": True}) as altered:
        altered.drop_column("lock_count")
