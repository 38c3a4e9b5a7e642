"""What a key was used for, so that it is not taken for another change."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("requests", sa.Column("digest", sa.String))


def downgrade() -> None:
    op.drop_column("requests", "digest")
