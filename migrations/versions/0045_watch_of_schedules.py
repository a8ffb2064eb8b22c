"""the watch of schedules, what it found in each run, and the model that the vendor reported in a replay

Revision 0045, after 0044.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("schedules", sa.Column("watch", types.MediumText, nullable=True))
    op.add_column("schedule_runs", sa.Column("watched", types.MediumText, nullable=True))
    op.add_column("replays", sa.Column("model_snapshot", types.exact(200), nullable=True))


def downgrade() -> None:
    for table, column in (("schedules", "watch"), ("schedule_runs", "watched"), ("replays", "model_snapshot")):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
