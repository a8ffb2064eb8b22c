"""attempts at fingerprints of sessions, of which each is claimed before it begins

Revision 0043, after 0042.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("session_fingerprints", sa.Column("attempts", sa.Integer(), server_default="0", nullable=False))
    op.add_column("session_fingerprints", sa.Column("claimed_until", types.Timestamp(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("session_fingerprints") as session_fingerprints:
        session_fingerprints.drop_column("claimed_until")
        session_fingerprints.drop_column("attempts")
