"""fingerprints of what replays answered

Revision 0054, after 0053. Replays before it have none.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("replays", sa.Column("behaviour", types.MediumText, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("replays") as changed:
        changed.drop_column("behaviour")
