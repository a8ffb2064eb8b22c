"""what the turns of a session add up to

Revision 0013, after 0012.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

COUNTS = {
    "turns": sa.Integer(),
    "tool_calls": sa.Integer(),
    "tool_errors": sa.Integer(),
    "input_tokens": types.BigInt,
    "output_tokens": types.BigInt,
    "duration_ns": types.BigInt,
}
INDEXES = (
    ("project_id", "start_ns", "id"),
    ("project_id", "duration_ns", "id"),
    ("project_id", "errors", "id"),
    ("project_id", "user_id", "start_ns"),
)


def upgrade() -> None:
    with op.batch_alter_table("sessions") as sessions:
        for name, kind in COUNTS.items():
            sessions.add_column(sa.Column(name, kind, nullable=False, server_default="0"))
        # NULL: the clock adds up what is stored already.
        sessions.add_column(sa.Column("errors", sa.Integer(), nullable=True))
        sessions.add_column(sa.Column("user_id", types.exact(255), nullable=True))
        sessions.add_column(sa.Column("names", types.ExactText, nullable=True))
    for columns in INDEXES:
        op.create_index(f"ix_sessions_{'_'.join(columns)}", "sessions", list(columns))


def downgrade() -> None:
    for columns in INDEXES:
        op.drop_index(f"ix_sessions_{'_'.join(columns)}", "sessions")
    with op.batch_alter_table("sessions") as sessions:
        for name in (*COUNTS, "errors", "user_id", "names"):
            sessions.drop_column(name)
