"""the least coverage of a schedule, and the coverage that a run has found

Revision 0052, after 0050.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0052"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("schedules", sa.Column("min_coverage", sa.Double(), nullable=True))
    op.add_column("schedule_runs", sa.Column("coverage", types.MediumText, nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM schedule_runs WHERE coverage IS NOT NULL")
    op.execute("DELETE FROM schedules WHERE kind = 'suite-coverage'")
    for table, column in (("schedules", "min_coverage"), ("schedule_runs", "coverage")):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
