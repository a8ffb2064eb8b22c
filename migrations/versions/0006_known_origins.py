"""origins of sign-ins

Revision 0006, after 0005.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "known_origins",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("user_id", types.BigInt, nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("used_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_known_origins_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_known_origins")),
        sa.UniqueConstraint("user_id", "digest", name=op.f("uq_known_origins_user_id_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_known_origins_used_at", "known_origins", ["used_at"])


def downgrade() -> None:
    op.drop_table("known_origins")
