"""The words that searches begin with."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("searches", sa.Column("text", sa.String))


def downgrade() -> None:
    op.drop_column("searches", "text")
