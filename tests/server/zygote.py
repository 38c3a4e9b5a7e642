"""A process that becomes a server whenever it is told to, with all libraries loaded before.

Loading them takes far longer than all the rest of a server's start. A line of JSON says of which
server it is about: arguments and environment for `ital serve`, and a file for what that prints; the
number of the child is the answer. Or it holds the number of a child that is about to end; its exit
code is the answer, when it has.
"""

import gc
import json
import os
import sys

import ital.server
import ital.server.serve  # noqa: F401  (so that children have all that they use)
from ital.cli import app


def become_server(arguments: list[str], environment: dict[str, str], output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    files = os.open(os.devnull, os.O_RDONLY), os.open(output, os.O_WRONLY | os.O_APPEND)
    for number, file in enumerate((*files, files[1])):
        os.dup2(file, number)
    app(["serve", *arguments])


gc.freeze()  # what is there for good, and need not be copied for every child that looks for rubbish
for line in sys.stdin:
    wanted = json.loads(line)
    if isinstance(wanted, int):
        _, status = os.waitpid(wanted, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    child = os.fork()
    if child == 0:
        become_server(**wanted)
    print(child, flush=True)
