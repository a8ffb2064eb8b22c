"""the model calls of a session by model and size, so that a list need not read its turns

Revision 0044, after 0043.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

LONG = 200
"""Turns of stored sessions that are counted again. Of shorter ones lists read the turns until a turn is added."""


def upgrade() -> None:
    op.add_column("sessions", sa.Column("calls", types.MediumBlob, nullable=True))
    sessions = sa.table("sessions", sa.column("turns"), sa.column("uncounted"))
    long_ones = sessions.update().where(sessions.c.turns > LONG, sessions.c.uncounted.is_(None))
    op.execute(long_ones.values(uncounted=1))


def downgrade() -> None:
    with op.batch_alter_table("sessions") as sessions:
        sessions.drop_column("calls")
