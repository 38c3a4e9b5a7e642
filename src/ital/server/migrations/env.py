"""Runs migrations on the connection that `ital.server.database.migrate` hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], render_as_batch=True, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
