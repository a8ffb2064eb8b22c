"""replays that were played although they can't show all of the recording

Revision 0032, after 0031.
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column = sa.Column("accepted_partial", sa.Boolean(create_constraint=False), server_default="0", nullable=False)
    op.add_column("replays", column)


def downgrade() -> None:
    with op.batch_alter_table("replays") as replays:
        replays.drop_column("accepted_partial")
