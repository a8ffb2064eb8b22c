"""candidates of replays, snapshots of test cases, and experiments

Revision 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.add_column("replays", sa.Column("candidate_kind", types.exact(8), server_default="draft", nullable=False))
    op.add_column("replays", sa.Column("candidate_commit", types.exact(64), nullable=True))
    op.add_column("replays", sa.Column("case_snapshot_id", types.BigInt, nullable=True))
    op.add_column("replays", sa.Column("budget_id", types.BigInt, nullable=True))
    op.create_index("ix_replays_case_snapshot_id", "replays", ["case_snapshot_id"])
    op.add_column("test_cases", sa.Column("fingerprint", types.exact(64), server_default="", nullable=False))
    op.create_table(
        "case_snapshots",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.Column("fingerprint", types.exact(64), nullable=False),
        sa.Column("document", types.Json(), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_case_snapshots_prompt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_case_snapshots")),
        sa.UniqueConstraint("test_case_id", "fingerprint", name=op.f("uq_case_snapshots_test_case_id_fingerprint")),
        sqlite_autoincrement=True,
        **OPTIONS,
    )
    op.create_index("ix_case_snapshots_prompt_id", "case_snapshots", ["prompt_id"])
    op.create_table(
        "experiments",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("status", types.exact(16), nullable=False),
        sa.Column("verdict", types.exact(16), nullable=True),
        sa.Column("reason", types.MediumText, nullable=True),
        sa.Column("candidate_kind", types.exact(8), nullable=False),
        sa.Column("candidate_commit", types.exact(64), nullable=True),
        sa.Column("candidate_snapshot_id", types.BigInt, nullable=False),
        sa.Column("baseline_commit", types.exact(64), nullable=True),
        sa.Column("baseline_snapshot_id", types.BigInt, nullable=True),
        sa.Column("judge_model_id", types.BigInt, nullable=True),
        sa.Column("design", types.Json(), nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer(), server_default="0", nullable=False),
        sa.Column("summary", types.Json(), nullable=False),
        sa.Column("created_at", types.Timestamp(), nullable=False),
        sa.Column("started_at", types.Timestamp(), nullable=True),
        sa.Column("finished_at", types.Timestamp(), nullable=True),
        sa.Column("cases", types.LongJson(), nullable=False),
        sa.Column("models", types.Json(), nullable=False),
        sa.Column("result", types.LongJson(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_experiments_project_id")),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name=op.f("fk_experiments_prompt_id")),
        sa.ForeignKeyConstraint(
            ["candidate_snapshot_id"], ["draft_snapshots.id"], name=op.f("fk_experiments_candidate_snapshot_id")
        ),
        sa.ForeignKeyConstraint(
            ["baseline_snapshot_id"], ["draft_snapshots.id"], name=op.f("fk_experiments_baseline_snapshot_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        **OPTIONS,
    )
    op.create_index("ix_experiments_prompt_id_id", "experiments", ["prompt_id", "id"])
    op.create_index("ix_experiments_project_id_created_at", "experiments", ["project_id", "created_at"])
    op.create_index("ix_experiments_status_created_at", "experiments", ["status", "created_at"])
    op.create_table(
        "experiment_replays",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("experiment_id", types.BigInt, nullable=False),
        sa.Column("arm", sa.Integer(), nullable=False),
        sa.Column("test_case_id", types.BigInt, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("replay_id", types.BigInt, nullable=False),
        sa.Column("reused", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("reserved_usd", sa.Float(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment_replays")),
        sa.UniqueConstraint(
            "experiment_id",
            "arm",
            "test_case_id",
            "ordinal",
            name=op.f("uq_experiment_replays_experiment_id_arm_test_case_id_ordinal"),
        ),
        **OPTIONS,
    )
    op.create_index("ix_experiment_replays_replay_id", "experiment_replays", ["replay_id"])


def downgrade() -> None:
    for table in ("experiment_replays", "experiments", "case_snapshots"):
        op.drop_table(table)
    op.drop_column("test_cases", "fingerprint")
    op.drop_index("ix_replays_case_snapshot_id", table_name="replays")
    for name in ("budget_id", "case_snapshot_id", "candidate_commit", "candidate_kind"):
        op.drop_column("replays", name)
