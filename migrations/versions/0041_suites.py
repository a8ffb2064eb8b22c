"""fingerprints of sessions, and suites of test cases

Revision 0041, after 0040.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

_OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "session_fingerprints",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("session_key", types.binary(16), nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("waiting", types.BigInt, nullable=True),
        sa.Column("edition", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fingerprint", types.MediumBlob, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session_fingerprints")),
        sa.UniqueConstraint("session_key", name=op.f("uq_session_fingerprints_session_key")),
        **_OPTIONS,
    )
    op.create_index("ix_session_fingerprints_project_id_waiting", "session_fingerprints", ["project_id", "waiting"])
    op.create_index("ix_session_fingerprints_prompt_id", "session_fingerprints", ["prompt_id"])
    op.create_table(
        "suites",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("name", types.exact(100), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_suites_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_suites_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suites")),
        sa.UniqueConstraint("prompt_id", "name", name=op.f("uq_suites_prompt_id_name")),
        **_OPTIONS,
    )
    op.create_index("ix_suites_project_id", "suites", ["project_id"])
    op.create_table(
        "suite_members",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("suite_id", types.BigInt, nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("reason", types.MediumText, nullable=True),
        sa.Column("calibration_id", types.BigInt, nullable=True),
        sa.Column("added_at", types.Timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite_members")),
        sa.UniqueConstraint("suite_id", "test_case_id", name=op.f("uq_suite_members_suite_id_test_case_id")),
        **_OPTIONS,
    )
    for column in ("test_case_id", "prompt_id", "project_id"):
        op.create_index(f"ix_suite_members_{column}", "suite_members", [column])


def downgrade() -> None:
    for table in ("suite_members", "suites", "session_fingerprints"):
        op.drop_table(table)
