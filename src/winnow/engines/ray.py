"""The engine for many machines: Ray tasks. This is the only file that imports ray, and only when it is used.

Nothing starts a cluster unless this engine is asked for. Without an address, and without `RAY_ADDRESS`, it starts one
on this machine that listens on the loopback interface only; it ends with this process. What all tasks share is put
into Ray's store once and unpacked once per worker. A task whose worker or node dies is done again by Ray: it writes the
same bytes, so nobody can tell. Workers write into the run directory if they can see it; otherwise the files come back
with the receipt. Ray's own data library is not used.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..core import checks, registry
from ..core.errors import InputError, MissingDependencyError, WinnowError, reason
from .local import cores
from .needs import Needs
from .parcel import Parcel, packed
from .worker import done

__all__ = ["Ray"]

LOOPBACK = "127.0.0.1"
LOCAL_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: the machine is known as 127.0.0.1, on any system
RETRIES = 5  # how often a task is done again after its worker or node died
CONNECTING = 4  # tries to connect from outside
PAUSE = 2.0  # seconds between them
NOT_STARTED = "Starting Ray client server failed"  # a cluster starts a process per client, which may end at once
ANY = Needs()


@registry.engine(name="ray")
@dataclass(frozen=True)
class Ray:
    """Run tasks on a Ray cluster.

    Parameters
    ----------
    address
        The cluster: `auto` or `HOST:PORT` for a machine that is part of it, `ray://HOST:PORT` for one that is not. If
        not given, `RAY_ADDRESS`; without it, a cluster is started on this machine alone.
    workers
        Tasks at a time at most; None leaves it to the cluster.
    threads
        Threads per task. More than one may change the last bits of a result.

    Raises
    ------
    InputError
        If a number is below 1, or the address is no text.
    """

    address: str | None = None
    workers: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        if self.address is not None and not isinstance(self.address, str):
            raise InputError(f"address of Ray must be a text, such as 'ray://host:10001'; got {self.address!r}.")
        if self.workers is not None:
            checks.integer("workers", "Ray", self.workers, low=1)
        checks.integer("threads", "Ray", self.threads, low=1)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Needs = ANY
    ) -> Iterator[tuple[int, Any, float]]:
        """Do what `jobs.Engine` says; an item is done again if its worker or node dies.

        Raises
        ------
        MissingDependencyError
            If ray is not installed.
        WinnowError
            If the cluster cannot be reached, or a task died too often.
        """
        if not items:
            return
        ray = self._connected()
        parcel = ray.put(packed((function, tuple(shared))))
        task = ray.remote(_task).options(
            num_cpus=self.threads, num_gpus=self._gpus(ray, needs), max_retries=RETRIES, retry_exceptions=False
        )
        left = list(enumerate(items))[::-1]
        most = len(items) if self.workers is None else self.workers
        running: list[Any] = []
        try:
            while left or running:
                while left and len(running) < most:
                    index, item = left.pop()
                    running.append(task.remote(parcel, packed(item), index, self.threads, needs))
                ready, running = ray.wait(running, num_returns=1)
                yield _got(ray, ready[0])
        finally:
            for one in running:
                ray.cancel(one, force=True)

    def _connected(self) -> Any:
        """Return the library, connected to the cluster."""
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # as later versions do, without a warning
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of tasks that were cancelled
        if address == "local":
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
            os.environ.setdefault(LOCAL_ONLY, "0")
        try:
            import ray
        except ImportError:
            raise MissingDependencyError.of("ray", "ray", "engine ray") from None
        if ray.is_initialized():
            return ray
        how: dict[str, Any] = {"address": address, "logging_level": logging.ERROR, "log_to_driver": False}
        if address == "local":
            ray._private.ray_constants.ENABLE_RAY_CLUSTER = False  # where ray was imported before
            how |= {"include_dashboard": False, "_node_ip_address": LOOPBACK}
            how["num_cpus"] = max(cores(), self.workers or 1)
        for left in reversed(range(CONNECTING)):
            try:
                with _own_handlers():
                    ray.init(**how)
                break
            except ImportError:  # a client needs more of ray than a machine of the cluster
                raise MissingDependencyError.of("ray[client]", "ray", f"engine ray at {address}") from None
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                if left and NOT_STARTED in str(error):
                    time.sleep(PAUSE)
                    continue
                where = "on this machine" if address == "local" else f"at {address}"
                raise WinnowError(f"no Ray cluster could be reached {where}: {reason(error)}.") from None
        return ray

    def _gpus(self, ray: Any, needs: Needs) -> int:
        """One GPU for each task, if the cluster has any and a task uses one."""
        return int(needs.gpu and ray.cluster_resources().get("GPU", 0) >= 1)


def _task(parcel: Parcel, item: Parcel, index: int, threads: int, needs: Needs) -> tuple[int, Any, float]:
    """Do one item in a worker of Ray."""
    from threadpoolctl import threadpool_limits

    function, shared = parcel.opened_once()
    with threadpool_limits(threads):
        return done(function, shared, item.opened(), index, threads, needs)


def _got(ray: Any, one: Any) -> tuple[int, Any, float]:
    """Return the result of a task; its own errors as they are, those of the cluster in a sentence."""
    errors = ray.exceptions
    try:
        found: tuple[int, Any, float] = ray.get(one)
        return found
    except errors.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, WinnowError) else error) from None
    except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError) as error:
        raise WinnowError(
            f"a task died {RETRIES + 1} times on the Ray cluster, most likely because memory ran out "
            f"({type(error).__name__}); finished steps are kept: run again with fewer workers."
        ) from None


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep what SIGTERM does in this process; Ray would replace it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
