"""alert rules and online checks that can be paused, and the revision of an alert rule

Revision 0022, after 0021.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("alert_rules") as rules:
        rules.add_column(sa.Column("enabled", sa.Boolean(), nullable=False, server_default="1"))
        rules.add_column(sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("online_checks") as checks:
        checks.add_column(sa.Column("enabled", sa.Boolean(), nullable=False, server_default="1"))


def downgrade() -> None:
    with op.batch_alter_table("online_checks") as checks:
        checks.drop_column("enabled")
    with op.batch_alter_table("alert_rules") as rules:
        rules.drop_column("revision")
        rules.drop_column("enabled")
