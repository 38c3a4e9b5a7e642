"""Engines that run a function over all shards of a pool. Here: threads on this machine."""

from ital.engine.threads import block_rows, cores, for_blocks, one_blas_thread

__all__ = ["block_rows", "cores", "for_blocks", "one_blas_thread"]
