"""The command line: each command opens its data, calls one function and prints the result.

A `WinnowError` becomes one line on stderr and exit code 2 (3 if steps were written down for `winnow do`). After Ctrl-C
or SIGTERM the exit code is 130, and the same command resumes the run.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from typing import Any, NoReturn

import typer

from .. import __version__
from ..core.errors import WinnowError
from ..core.invocation import invoked
from ..core.progress import shown
from . import (
    audit,
    bench,
    check,
    do,
    evaluate,
    explain,
    export,
    methods,
    narrow,
    observe,
    plan,
    proxy,
    prune,
    relabel,
    report,
    runs,
    score,
    select,
    theory,
    train,
    view,
    why,
)
from .command import Group
from .remote_runs import local_runs

__all__ = ["app", "main"]

UsageError: type[Any] = typer.BadParameter.__mro__[2]  # base class of typer's usage errors, which typer does not export

STOPPED = 130  # the usual exit code after Ctrl-C

app = typer.Typer(
    name="winnow",
    cls=Group,
    help="Train on less data, and prove what it costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for add in (
    check.check,
    prune.prune,
    train.train,
    plan.plan,
    observe.observe,
    score.score,
    select.select,
    evaluate.evaluate,
    proxy.proxy,
    bench.bench,
    methods.register,
    report.register,
    view.register,
    explain.explain,
    why.why,
    audit.audit,
    export.register,
    do.register,
    runs.register,
    theory.register,
    narrow.register,
    relabel.relabel,
):
    add(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"winnow {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Train on less data, and prove what it costs."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    warnings.showwarning = lambda message, *_, **__: print(f"winnow: note: {message}", file=sys.stderr)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored, as under nohup
            signal.signal(signal.SIGINT, _stop)
    words = sys.argv[1:] if arguments is None else arguments
    try:
        with shown(lines="--json" not in words), invoked(words), local_runs(words) as here:
            outcome = app(args=here, prog_name="winnow", standalone_mode=False)
        if outcome != STOPPED:  # what typer returns after Ctrl-C
            return outcome if isinstance(outcome, int) else 0
    except WinnowError as error:
        print(f"winnow: {' '.join(str(error).split())}", file=sys.stderr)
        return int(getattr(error, "exit_code", 2))
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            print(f"winnow: {_usage(error)}", file=sys.stderr)
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        pass
    print("winnow: stopped; finished steps are kept; run the same command again to resume.", file=sys.stderr)
    return STOPPED


def _usage(error: Any) -> str:
    """What is wrong with the options, in one sentence, with what the option in question is for."""
    said = " ".join(error.format_message().split()).rstrip(".")
    param, command = getattr(error, "param", None), getattr(error.ctx, "command_path", "winnow")
    meant = getattr(param, "help", None) if isinstance(error, typer.BadParameter) else None
    said = said[0].lower() + said[1:]
    return f"{said}; {command} --help lists the options." if not meant else f"{said}; it takes: {meant}"


def _stop(*_: object) -> NoReturn:
    """End as after Ctrl-C: schedulers and containers ask a program to stop by SIGTERM.

    Threads of libraries that are stopped in the middle of their work, such as the one that hands work to the workers,
    may end in a traceback, which would say nothing to the user.
    """
    threading.excepthook = lambda _: None
    raise KeyboardInterrupt
