"""A process that becomes `ital` whenever it is told to, with all libraries loaded before.

Loading them takes far longer than all the rest of a server's start. A line of JSON says what
to become: arguments and environment for `ital`, and files for what that prints; the number of the
child is the answer. Or it holds the number of a child that is about to end; its exit
code is the answer, when it has.
"""

import gc
import json
import os
import sys

import ital.server
import ital.server.serve  # noqa: F401  (so that children have all that they use)
from ital.cli import app


def become_ital(
    arguments: list[str], environment: dict[str, str], output: str, errors: str
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    written = [os.open(file, os.O_WRONLY | os.O_APPEND) for file in (output, errors)]
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *written)):
        os.dup2(file, number)
    try:
        app(arguments)
    except SystemExit as end:
        # Libraries would wait for threads of theirs that only the parent has.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)


gc.freeze()  # what is there for good, and need not be copied for every child that looks for rubbish
for line in sys.stdin:
    wanted = json.loads(line)
    if isinstance(wanted, int):
        _, status = os.waitpid(wanted, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    child = os.fork()
    if child == 0:
        become_ital(**wanted)
    print(child, flush=True)
