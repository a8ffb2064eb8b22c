"""scores that people and programs give, of sessions, turns, steps and runs

Revision 0014, after 0013.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

COLUMNS = {"score_id": types.exact(128), "session_key": types.binary(16), "run_id": types.BigInt}
INDEXES = (("project_id", "id"), ("project_id", "name", "id"), ("session_key",), ("run_id",))


def upgrade() -> None:
    with op.batch_alter_table("scores") as scores:
        for name, kind in COLUMNS.items():
            scores.add_column(sa.Column(name, kind, nullable=True))
    for columns in INDEXES:
        op.create_index(f"ix_scores_{'_'.join(columns)}", "scores", list(columns))


def downgrade() -> None:
    for columns in INDEXES:
        op.drop_index(f"ix_scores_{'_'.join(columns)}", "scores")
    with op.batch_alter_table("scores") as scores:
        for name in COLUMNS:
            scores.drop_column(name)
