"""How it came to answers: what asked, and how probable the picture was."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("events", sa.Column("asked", sa.JSON))


def downgrade() -> None:
    op.drop_column("events", "asked")
