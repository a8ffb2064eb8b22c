"""the turns of a block that wait for the search

Revision 0026, after 0025.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("search_waiting", sa.Column("turns", types.BigInt, nullable=True))


def downgrade() -> None:
    op.drop_column("search_waiting", "turns")
