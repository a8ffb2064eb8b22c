"""the response id of each turn's last model call, by which turns and evaluations are joined

Revision 0037, after 0036.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

INDEX = "ix_turns_project_id_response_key"


def upgrade() -> None:
    op.add_column("turns", sa.Column("response_key", types.binary(16), nullable=True))
    op.create_index(INDEX, "turns", ["project_id", "response_key"])


def downgrade() -> None:
    op.drop_index(INDEX, "turns")
    with op.batch_alter_table("turns") as turns:
        turns.drop_column("response_key")
