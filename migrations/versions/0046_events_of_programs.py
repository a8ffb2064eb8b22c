"""a row for each event of a program in a replay, and the sums of these rows

Revision 0046, after 0045.

`program_replays.transcript` stays for what earlier releases began. What happens to a replay of a program that runs
during the upgrade:

- All its turns are answered: a worker of either release judges it, from the transcript.
- A turn is open, and the next request reaches a process of the earlier release: it goes on.
- A turn is open, and the next request reaches a process of this release: the replay ends with an error that asks to
  play it again. The transcript may be encrypted, so that a migration can't make rows of it.

After a way back to the earlier release, that one finds no transcript of what this release began. Such a replay ends
with an error, at the latest an hour after its begin.
"""

import sqlalchemy as sa
from alembic import op

from app.models import base as types

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

_COUNTS = ("calls", "asked", "size", "turn", "replied", "compared")


def upgrade() -> None:
    op.create_table(
        "program_events",
        sa.Column("id", types.BigInt, autoincrement=True, nullable=False),
        sa.Column("project_id", types.BigInt, nullable=False),
        sa.Column("prompt_id", types.BigInt, nullable=False),
        sa.Column("replay_id", types.BigInt, nullable=False),
        sa.Column("kind", types.exact(8), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", types.MediumBlob, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_program_events")),
        sa.UniqueConstraint("replay_id", "kind", "number", name=op.f("uq_program_events_replay_id_kind_number")),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    for column in ("prompt_id", "project_id"):
        op.create_index(f"ix_program_events_{column}", "program_events", [column])
    op.add_column("program_replays", sa.Column("events", sa.Integer(), nullable=True))
    for column in _COUNTS:
        op.add_column("program_replays", sa.Column(column, sa.Integer(), server_default="0", nullable=False))
    stopped = sa.Column("stopped", sa.Boolean(create_constraint=False), server_default="0", nullable=False)
    op.add_column("program_replays", stopped)


def downgrade() -> None:
    with op.batch_alter_table("program_replays") as programs:
        for column in ("stopped", *reversed(_COUNTS), "events"):
            programs.drop_column(column)
    op.drop_table("program_events")
