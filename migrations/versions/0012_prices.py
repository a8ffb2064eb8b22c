"""prices of observed models, and the tokens of observed calls by day

Revision 0012, after 0011.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}


def upgrade() -> None:
    op.create_table(
        "model_prices",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("organization_id", types.BigInt, nullable=False),
        sa.Column("provider", types.exact(64), nullable=False),
        sa.Column("model", types.exact(255), nullable=False),
        sa.Column("prompt_price", sa.Double, nullable=False),
        sa.Column("completion_price", sa.Double, nullable=False),
        sa.Column("cache_read_price", sa.Double, nullable=True),
        sa.Column("cache_write_price", sa.Double, nullable=True),
        sa.Column("reasoning_price", sa.Double, nullable=True),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.Column("updated_at", types.Timestamp, nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_model_prices_organization_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_prices")),
        sa.UniqueConstraint(
            "organization_id", "provider", "model", name=op.f("uq_model_prices_organization_id_provider_model")
        ),
        **OPTIONS,
    )
    op.create_table(
        "observed_daily",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("provider", types.exact(64), nullable=False),
        sa.Column("model", types.exact(255), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
        sa.Column("calls", types.BigInt, nullable=False),
        sa.Column("input_tokens", types.BigInt, nullable=False),
        sa.Column("output_tokens", types.BigInt, nullable=False),
        sa.Column("cache_read_tokens", types.BigInt, nullable=False),
        sa.Column("cache_write_tokens", types.BigInt, nullable=False),
        sa.Column("reasoning_tokens", types.BigInt, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_observed_daily")),
        sa.UniqueConstraint(
            "project_id", "day", "prompt_id", "provider", "model", "size", "slot", name=op.f("uq_observed_daily")
        ),
        **OPTIONS,
    )
    op.create_index("ix_observed_daily_prompt_id", "observed_daily", ["prompt_id"])


def downgrade() -> None:
    op.drop_table("observed_daily")
    op.drop_table("model_prices")
