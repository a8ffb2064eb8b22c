"""origins of sign-ins, and one open invitation for an e-mail

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
    _withdraw_invitations()


def _withdraw_invitations() -> None:
    """Of several open ones for an e-mail the last stays; those for members let nobody in any more."""
    # In a derived table: MySQL deletes from no table that the statement reads.
    op.execute(
        "DELETE FROM invitations WHERE accepted_by IS NULL AND id NOT IN (SELECT kept.id FROM (SELECT MAX(id) AS id"
        " FROM invitations WHERE accepted_by IS NULL GROUP BY organization_id, email) AS kept)"
    )
    op.execute(
        "DELETE FROM invitations WHERE accepted_by IS NULL AND EXISTS (SELECT 1 FROM memberships JOIN users ON"
        " users.id = memberships.user_id WHERE memberships.organization_id = invitations.organization_id"
        " AND users.email = invitations.email)"
    )


def downgrade() -> None:
    op.drop_table("known_origins")
