"""faults of replays, and variants of test cases that have them

Revision 0030, after 0029.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_KEY = ["experiment_id", "arm", "test_case_id"]
_BEFORE = "uq_experiment_replays_experiment_id_arm_test_case_id_ordinal"
_AFTER = "uq_experiment_replays_series_ordinal"


def upgrade() -> None:
    op.add_column("replays", sa.Column("faults", types.Json, nullable=True))
    op.add_column("test_cases", sa.Column("variants", types.Json, nullable=True))
    with op.batch_alter_table("experiment_replays") as table:
        table.add_column(sa.Column("variant", sa.Integer, server_default="0", nullable=False))
        table.create_unique_constraint(_AFTER, [*_KEY, "variant", "ordinal"])
        table.drop_constraint(_BEFORE, type_="unique")


def downgrade() -> None:
    op.execute("DELETE FROM experiment_replays WHERE variant > 0")
    with op.batch_alter_table("experiment_replays") as table:
        table.create_unique_constraint(_BEFORE, [*_KEY, "ordinal"])
        table.drop_constraint(_AFTER, type_="unique")
        table.drop_column("variant")
    op.drop_column("test_cases", "variants")
    op.drop_column("replays", "faults")
