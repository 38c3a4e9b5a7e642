"""Where a pool's shards are, and the threads that work on them."""

from ital.engine.group import Engine, Group, ThreadEngine
from ital.engine.threads import block_rows, cores, for_blocks, one_blas_thread

__all__ = [
    "Engine",
    "Group",
    "ThreadEngine",
    "block_rows",
    "cores",
    "for_blocks",
    "one_blas_thread",
]
