"""violations of replays, how often judges and persons agree, and calibrations

Revision 0007, after 0006.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COUNTS = ("reviews", "judge_reviewed", "judge_agreed")


def upgrade() -> None:
    op.add_column("replays", sa.Column("violations", types.Json(), nullable=True))
    for name in COUNTS:
        op.add_column("replays", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    op.add_column("replays", sa.Column("calibration_id", types.BigInt, nullable=True))
    op.create_index("ix_replays_calibration_id", "replays", ["calibration_id"])
    op.create_table(
        "calibrations",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("document", types.Json(), nullable=False),
        sa.Column("outcome", types.LongJson(), nullable=True),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_calibrations_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_calibrations_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrations")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    op.create_index("ix_calibrations_prompt_id", "calibrations", ["prompt_id"])
    op.create_index("ix_calibrations_test_case_id", "calibrations", ["test_case_id"])
    op.create_index("ix_calibrations_project_id_created_at", "calibrations", ["project_id", "created_at"])


def downgrade() -> None:
    op.drop_table("calibrations")
    op.drop_index("ix_replays_calibration_id", table_name="replays")
    for name in ("calibration_id", *COUNTS, "violations"):
        op.drop_column("replays", name)
