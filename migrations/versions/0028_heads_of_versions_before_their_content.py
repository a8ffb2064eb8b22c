"""the heads of versions before their content

Revision 0028, after 0027.
"""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

HEAD = ("id", "prompt_id", "commit_hash", "parent_hash", "message", "author_id", "author_name", "created_at")
CONTENT = ("content_hash", "language_model_id", "fallback_model_id", "config", "placeholders", "value")


def upgrade() -> None:
    # SQLite reads a row as far as the last column of the statement: a list of versions read all their texts.
    if op.get_bind().dialect.name == "sqlite":
        with op.batch_alter_table("prompt_versions", recreate="always", partial_reordering=[HEAD + CONTENT]):
            pass


def downgrade() -> None:
    """Keep the order of the columns: no statement depends on it."""
