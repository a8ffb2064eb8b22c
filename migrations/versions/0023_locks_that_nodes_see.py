"""locks of organizations and experiments that all nodes of a cluster see

Revision 0023, after 0022.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TABLES = ("organizations", "experiments")


def upgrade() -> None:
    for table in TABLES:
        with op.batch_alter_table(table) as altered:
            altered.add_column(sa.Column("lock_count", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    for table in TABLES:
        with op.batch_alter_table(table) as altered:
            altered.drop_column("lock_count")
