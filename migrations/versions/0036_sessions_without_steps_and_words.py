"""sessions without a model call, a tool call, an agent or words, which lists leave out

Revision 0036, after 0035.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_sessions_prompt_id_start_ns_id": ["prompt_id", "start_ns", "id"],
    "ix_sessions_project_id_start_ns_id": ["project_id", "start_ns", "id"],
    "ix_sessions_project_id_duration_ns_id": ["project_id", "duration_ns", "id"],
    "ix_sessions_project_id_errors_id": ["project_id", "errors", "id"],
}


def upgrade() -> None:
    # 1: sessions of earlier releases are listed as before.
    op.add_column("sessions", sa.Column("active", sa.Integer, nullable=False, server_default="1"))
    for name, columns in INDEXES.items():
        op.create_index(f"{name}_active", "sessions", [*columns, "active"])
        op.drop_index(name, "sessions")


def downgrade() -> None:
    for name, columns in INDEXES.items():
        op.create_index(name, "sessions", columns)
        op.drop_index(f"{name}_active", "sessions")
    with op.batch_alter_table("sessions") as sessions:
        sessions.drop_column("active")
