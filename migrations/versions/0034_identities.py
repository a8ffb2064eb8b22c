"""people as OpenID providers know them

Revision 0034, after 0033.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("user_id", types.BigInt, nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_identities_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("digest", name=op.f("uq_identities_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )


def downgrade() -> None:
    op.drop_table("identities")
