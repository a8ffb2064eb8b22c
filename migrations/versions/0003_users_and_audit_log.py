"""users and audit log

Revision 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=True),
        sa.Column("actor_kind", types.exact(16), nullable=False),
        sa.Column("actor_id", types.BigInt, nullable=True),
        sa.Column("actor_name", sa.String(length=254), nullable=False),
        sa.Column("action", types.exact(64), nullable=False),
        sa.Column("subject", sa.String(length=254), nullable=False),
        sa.Column("details", types.Json(), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("audit_log", schema=None) as batch_op:
        batch_op.create_index("ix_audit_log_organization_id_id", ["organization_id", "id"], unique=False)

    op.create_table(
        "users",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("email", types.exact(254), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_table(
        "invitations",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("email", types.exact(254), nullable=False),
        sa.Column("role", types.exact(16), nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("expires_at", types.Timestamp(), nullable=False),
        sa.Column("accepted_by", types.BigInt, nullable=True),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name=op.f("fk_invitations_organization_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitations_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("invitations", schema=None) as batch_op:
        batch_op.create_index("ix_invitations_organization_id", ["organization_id"], unique=False)

    op.create_table(
        "memberships",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("user_id", types.BigInt, nullable=False),
        sa.Column("role", types.exact(16), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name=op.f("fk_memberships_organization_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memberships")),
        sa.UniqueConstraint("organization_id", "user_id", name=op.f("uq_memberships_organization_id_user_id")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("memberships", schema=None) as batch_op:
        batch_op.create_index("ix_memberships_user_id", ["user_id"], unique=False)

    op.create_table(
        "sign_ins",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("user_id", types.BigInt, nullable=False),
        sa.Column("kind", types.exact(8), nullable=False),
        sa.Column("digest", types.binary(32), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("expires_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_ins_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
        sa.UniqueConstraint("digest", name=op.f("uq_sign_ins_digest")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.create_index("ix_sign_ins_expires_at", ["expires_at"], unique=False)
        batch_op.create_index("ix_sign_ins_user_id", ["user_id"], unique=False)


def downgrade() -> None:
    op.drop_table("sign_ins")
    op.drop_table("memberships")
    op.drop_table("invitations")
    op.drop_table("users")
    op.drop_table("audit_log")
