"""what a model proposes for the tools of a test case of which no one knows whether they write

Revision 0038, after 0037.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("test_cases", sa.Column("proposed_effects", types.Json(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("test_cases") as test_cases:
        test_cases.drop_column("proposed_effects")
