"""the snapshot of the judge's model that its vendor reported in a replay

Revision 0033, after 0032.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("replays", sa.Column("judge_snapshot", types.exact(200), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("replays") as replays:
        replays.drop_column("judge_snapshot")
