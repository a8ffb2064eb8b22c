"""guard maps: the kind of an experiment, and a digest of what a replay answered

Revision 0049, after 0048.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("kind", types.exact(16), server_default="experiment", nullable=False))
    # The new index exists before the old one is dropped: MySQL needs one for the foreign key.
    op.create_index("ix_experiments_prompt_id_kind_id", "experiments", ["prompt_id", "kind", "id"])
    op.drop_index("ix_experiments_prompt_id_id", "experiments")
    op.add_column("replays", sa.Column("answers_digest", types.exact(32), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM experiments WHERE kind <> 'experiment'")
    op.create_index("ix_experiments_prompt_id_id", "experiments", ["prompt_id", "id"])
    op.drop_index("ix_experiments_prompt_id_kind_id", "experiments")
    for table, column in (("experiments", "kind"), ("replays", "answers_digest")):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
