"""A process that becomes a server whenever it is told to, with all libraries loaded before.

It reads a line, forks, and writes the number of the child, which is `ital serve` with the arguments
of this program. Starting a server by the dozen takes seconds this way instead of minutes.
"""

import os
import sys

import ital.server  # noqa: F401  (so that children have it)
from ital.cli import app

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.stdin.close()
        app(["serve", *sys.argv[1:]])
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
