"""Searches, their events, requests that were carried out, and uploaded pictures."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "searches",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("collection", sa.String, nullable=False, index=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("created", _MOMENT, nullable=False),
        sa.Column("updated", _MOMENT, nullable=False),
    )
    of_search = ("search", sa.String)
    op.create_table(
        "events",
        sa.Column(*of_search, sa.ForeignKey("searches.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("labels", sa.JSON, nullable=False),
        sa.Column("uploads", sa.JSON, nullable=False),
        sa.Column("insight", sa.JSON),
        sa.Column("created", _MOMENT, nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column(*of_search, sa.ForeignKey("searches.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("collection", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("thumbnail", sa.LargeBinary, nullable=False),
        sa.Column("created", _MOMENT, nullable=False),
    )


def downgrade() -> None:
    for table in ("uploads", "requests", "events", "searches"):
        op.drop_table(table)
