"""replays of programs, and the names and revisions of programs

Revision 0039, after 0038.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "program_replays",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("replay_id", types.BigInt, nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("tools", types.exact(8), nullable=False),
        sa.Column("offline", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("expires_at", types.Timestamp(), nullable=False),
        sa.Column("version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("transcript", types.MediumBlob, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_program_replays")),
        sa.UniqueConstraint("replay_id", name=op.f("uq_program_replays_replay_id")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    for column in ("prompt_id", "project_id", "expires_at"):
        op.create_index(f"ix_program_replays_{column}", "program_replays", [column])
    op.add_column("draft_snapshots", sa.Column("external", types.Json(), nullable=True))


def downgrade() -> None:
    op.drop_table("program_replays")
    with op.batch_alter_table("draft_snapshots") as snapshots:
        snapshots.drop_column("external")
