"""the turns that are to be counted again

Revision 0030, after 0029.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

INDEX = "ix_turns_project_id_unsettled"


def upgrade() -> None:
    # 1: the clock counts the stored turns again, because their sums include copies.
    op.add_column("turns", sa.Column("unsettled", types.BigInt, nullable=True, server_default="1"))
    op.create_index(INDEX, "turns", ["project_id", "unsettled"])


def downgrade() -> None:
    op.drop_index(INDEX, "turns")
    with op.batch_alter_table("turns") as turns:
        turns.drop_column("unsettled")
