"""the author of each draft

Revision 0021, after 0020.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("prompts", sa.Column("changed_by", sa.String(128), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("prompts") as prompts:
        prompts.drop_column("changed_by")
