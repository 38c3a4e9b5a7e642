"""Answers to audits are events of their searches, and audits know how many are planned.

Audits that are under way end. What was said is in the events already.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("events", sa.Column("audit", sa.Integer))
    op.execute("DELETE FROM audits")
    op.drop_column("audits", "answers")
    op.add_column("audits", sa.Column("planned", sa.Integer, nullable=False, server_default="60"))


def downgrade() -> None:
    op.execute("DELETE FROM audits")
    op.drop_column("audits", "planned")
    op.add_column("audits", sa.Column("answers", sa.JSON, nullable=False, server_default="{}"))
    op.drop_column("events", "audit")
