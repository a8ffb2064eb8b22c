"""indexes by which periodic jobs find the rows of each project

Revision 0025, after 0024.
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# The table, the columns of the new index, and those of the indexes that it replaces.
REPLACED = (
    ("runs", ("status", "project_id", "created_at"), (("status", "created_at"),)),
    ("replays", ("status", "project_id", "created_at"), (("status", "created_at"),)),
    ("log_records", ("project_id", "waiting_since"), (("waiting_since",),)),
    ("scores", ("project_id", "waiting_since"), (("waiting_since",),)),
    ("webhook_deliveries", ("webhook_id", "status", "due_at"), (("status", "due_at"),)),
    ("webhook_deliveries", ("project_id", "created_at"), (("project_id",), ("created_at",))),
)


def upgrade() -> None:
    for table, columns, replaced in REPLACED:
        op.create_index(_name(table, columns), table, columns)
        for old in replaced:
            op.drop_index(_name(table, old), table_name=table)


def downgrade() -> None:
    for table, columns, replaced in REPLACED:
        for old in replaced:
            whole = (*old, "webhook_id") if old == ("status", "due_at") else old
            op.create_index(_name(table, old), table, whole)
        op.drop_index(_name(table, columns), table_name=table)


def _name(table: str, columns: tuple[str, ...]) -> str:
    return f"ix_{table}_{'_'.join(columns)}"
