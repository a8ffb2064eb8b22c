"""usage by day, and the second model of a prompt

Revision 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PARTS = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
KEY = ("project_id", "day", "prompt_id", "commit_hash", "language_model_id", "api_key_id", "source", "slot")


def upgrade() -> None:
    for table in ("prompts", "prompt_versions"):
        op.add_column(table, sa.Column("fallback_model_id", types.BigInt, nullable=True))
    for name in PARTS:
        op.add_column("replays", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    op.create_table(
        "usage_daily",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("commit_hash", types.exact(64), nullable=False),
        sa.Column("language_model_id", types.BigInt, nullable=False),
        sa.Column("api_key_id", types.BigInt, nullable=False),
        sa.Column("source", types.exact(8), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", types.BigInt, nullable=False),
        sa.Column("completion_tokens", types.BigInt, nullable=False),
        sa.Column("cache_read_tokens", types.BigInt, nullable=False),
        sa.Column("cache_write_tokens", types.BigInt, nullable=False),
        sa.Column("reasoning_tokens", types.BigInt, nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage_daily")),
        sa.UniqueConstraint(*KEY, name="uq_usage_daily"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    _count_what_has_ended()


def _count_what_has_ended() -> None:
    """The parts of the tokens of these runs were told in JSON alone; they stay 0."""
    op.execute(
        "INSERT INTO usage_daily (project_id, day, prompt_id, commit_hash, language_model_id, api_key_id, source, slot,"
        " runs, failed, prompt_tokens, completion_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,"
        " cost_usd)"
        " SELECT project_id, DATE(finished_at), prompt_id, COALESCE(commit_hash, ''), language_model_id,"
        " COALESCE(api_key_id, 0), source, 0, COUNT(*), SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END),"
        " SUM(prompt_tokens), SUM(completion_tokens), 0, 0, 0, SUM(cost_usd)"
        " FROM runs WHERE finished_at IS NOT NULL"
        " GROUP BY project_id, DATE(finished_at), prompt_id, commit_hash, language_model_id, api_key_id, source"
    )


def downgrade() -> None:
    op.drop_table("usage_daily")
    for name in PARTS:
        op.drop_column("replays", name)
    for table in ("prompt_versions", "prompts"):
        op.drop_column(table, "fallback_model_id")
