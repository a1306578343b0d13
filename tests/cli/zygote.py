"""Real winnow processes without the seconds of starting each: one process imports everything, then forks.

A child is a process like any other: it has its own number, locks, files and signals, and can be killed. The
commands come as JSON lines on stdin: `start` forks and answers with the number of the child, `wait` answers
with its exit code (negative for a signal) once it has ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys


def warm_up() -> None:
    """Import what a pruning imports; nothing here starts a thread, so forking is safe."""
    import faiss  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.datasets  # noqa: F401
    import torch

    import winnow.cli
    import winnow.pruning.prune
    import winnow.report.sections
    import winnow.scores
    import winnow.selectors  # noqa: F401
    from winnow.core import progress

    progress.PATIENCE = 1e9  # what is said of progress depends on how busy the machine is

    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1).zero_grad()


def start(arguments: list[str], output: str) -> int:
    """Fork a child that runs the command line with both its streams in files."""
    pid = os.fork()
    if pid:
        return pid
    from winnow.cli import main

    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    for number, ending in ((1, ".out"), (2, ".err")):
        file = os.open(output + ending, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = 1
    try:
        main(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Answer until stdin is closed."""
    warm_up()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            answer = start(request["start"], request["output"])
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
