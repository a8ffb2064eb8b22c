"""webhooks and their deliveries

Revision 0015, after 0014.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "mysql_row_format": "DYNAMIC"}
INDEXES = {
    "ix_webhook_deliveries_webhook_id_id": ["webhook_id", "id"],
    "ix_webhook_deliveries_status_due_at": ["status", "due_at", "webhook_id"],
    "ix_webhook_deliveries_project_id": ["project_id"],
    "ix_webhook_deliveries_prompt_id": ["prompt_id"],
    "ix_webhook_deliveries_created_at": ["created_at"],
}


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("url", types.ExactText, nullable=False),
        sa.Column("format", types.exact(8), nullable=False),
        sa.Column("events", types.Json, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.Column("updated_at", types.Timestamp, nullable=False),
        sa.Column("secret", types.ExactText, nullable=False),
        sa.Column("old_secret", types.ExactText, nullable=True),
        sa.Column("old_secret_until", types.Timestamp, nullable=True),
        sa.Column("busy_until", types.Timestamp, nullable=True),
        sa.Column("rejected_id", types.BigInt, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_webhooks_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        **OPTIONS,
    )
    op.create_index("ix_webhooks_project_id", "webhooks", ["project_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("webhook_id", types.BigInt, nullable=False),
        sa.Column("event_id", types.exact(40), nullable=False),
        sa.Column("event", types.exact(32), nullable=False),
        sa.Column("data", types.Json, nullable=False),
        sa.Column("status", types.exact(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", types.Timestamp, nullable=False),
        sa.Column("status_code", sa.Integer, nullable=True),
        sa.Column("error", sa.String(500), nullable=True),
        sa.Column("answer", sa.String(1000), nullable=True),
        sa.Column("latency_ms", sa.Integer, nullable=True),
        sa.Column("created_at", types.Timestamp, nullable=False),
        sa.Column("finished_at", types.Timestamp, nullable=True),
        sa.Column("prompt_id", types.BigInt, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
        **OPTIONS,
    )
    for name, columns in INDEXES.items():
        op.create_index(name, "webhook_deliveries", columns)


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
