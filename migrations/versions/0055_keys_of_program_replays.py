"""API keys that began replays of programs

Revision 0055, after 0054. The tokens of replays that began before it do not end with their keys.
"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("program_replays", sa.Column("key_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("program_replays") as changed:
        changed.drop_column("key_id")
