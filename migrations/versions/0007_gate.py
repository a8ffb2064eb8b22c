"""violations of replays, and how often judges and persons agree

Revision 0007, after 0006.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COUNTS = ("reviews", "judge_reviewed", "judge_agreed")


def upgrade() -> None:
    op.add_column("replays", sa.Column("violations", types.Json(), nullable=True))
    for name in COUNTS:
        op.add_column("replays", sa.Column(name, sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    for name in (*COUNTS, "violations"):
        op.drop_column("replays", name)
