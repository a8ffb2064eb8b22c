"""the features of test cases, by which suites compare them with sessions

Revision 0047, after 0046.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("test_cases", sa.Column("features", types.MediumBlob, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("test_cases") as changed:
        changed.drop_column("features")
