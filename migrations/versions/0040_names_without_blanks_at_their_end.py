"""names without blanks at their end, on SQLite

Revision 0040, after 0039. Release 0.1.0 stored them with these blanks, and names are compared without them now.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

# What people and programs name. All others are Reprise's own words and hashes.
NAMES = {
    "insight_daily": ("version", "model"),
    "language_models": ("name",),
    "model_prices": ("provider", "model"),
    "observed_daily": ("provider", "model"),
    "scores": ("name", "score_id"),
    "session_filters": ("name",),
    "sessions": ("conversation_id", "user_id"),
    "test_cases": ("session_id",),
}


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return  # MySQL's collation ignores the blanks
    for table, columns in NAMES.items():
        for name in columns:
            column = sa.column(name, sa.Text)
            names = sa.update(sa.table(table, column)).where(column.like("% "))
            # Where both names are there, each with rows of its own, the one with blanks stays as it was.
            connection.execute(names.prefix_with("OR IGNORE").values({name: sa.func.rtrim(column, " ")}))


def downgrade() -> None:
    """Keep the names: 0.1.0 finds them, too."""
