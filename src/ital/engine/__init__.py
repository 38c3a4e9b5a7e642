"""Where a pool's shards are, and the threads that work on them."""

from ital.engine.group import ClusterError, Engine, Group, ThreadEngine
from ital.engine.threads import at_work, block_rows, cores, for_blocks, one_blas_thread

__all__ = [
    "ClusterError",
    "Engine",
    "Group",
    "ThreadEngine",
    "at_work",
    "block_rows",
    "cores",
    "for_blocks",
    "one_blas_thread",
]
