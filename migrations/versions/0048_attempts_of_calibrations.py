"""the attempts to compare the results of a calibration

Revision 0048, after 0047.
"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("calibrations", sa.Column("attempts", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("calibrations") as changed:
        changed.drop_column("attempts")
