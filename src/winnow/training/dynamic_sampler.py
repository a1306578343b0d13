"""DynamicSampler: skip, epoch by epoch, examples that the network already fits, without biasing the gradient.

    smp = wn.DynamicSampler(len(x), prune=0.5, epochs=30)
    for epoch in range(30):
        for positions in smp:                                             # one epoch, in batches
            losses = functional.cross_entropy(model(x[positions]), y[positions], reduction="none")
            loss = smp.weigh(losses)                                      # then backward and step as ever

In each epoch, a rule turns the last loss of every example into the probability p_i of visiting it. A visited example
weighs 1 / p_i, and `weigh` is the weighted sum over the batch divided by the nominal batch size. So the expected sum of
gradients of an epoch is exactly that of an epoch on everything: E[sum over visited of g_i / p_i] = sum of g_i. Dividing
by the nominal size, and not by the size of a smaller last batch or by the sum of weights, keeps this true for batches
in parts, for accumulated gradients and for several processes. The first epoch and the last ones use everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.sampler import processes
from ..core import checks
from ..core.errors import InputError
from ..core.seeds import stream
from .epoch_plan import EpochPlan, batch_bounds, probabilities, remaining, visit
from .keep_rules import RULES, KeepRule
from .last_losses import LastLosses, Reduce

if TYPE_CHECKING:
    import torch

__all__ = ["DynamicSampler"]

OWNER = "DynamicSampler"


class DynamicSampler:
    """Batches of positions, one epoch per iteration, that skip part of the examples with a low loss.

    Parameters
    ----------
    n
        Number of examples in the data set.
    prune
        How much to skip: with rule `loss` the share of examples skipped per epoch, so that all of these epochs have the
        same length; with rule `mean` the probability of skipping an example below the mean loss.
    epochs
        Number of epochs of the training; decides when annealing begins.
    batch
        Examples per batch of this process; None yields single positions, for a loader that makes the batches itself.
    steps
        Number of batches of the training, instead of `epochs`: the last epoch ends there, and `finished` becomes true.
    anneal
        Share of the training, at its end, that uses everything.
    rule
        `loss` (probabilities in proportion to the loss), `mean` (InfoBatch), or a function of losses, `prune` and
        progress that returns probabilities.
    leave_out
        Positions that are never visited, such as suspected label issues.
    seed
        Seed of all draws; the same epochs follow for any number of processes.
    num_replicas, rank
        Number of processes and the rank of this one; taken from torch.distributed if it is initialised and they are
        not given. Each batch of k x `batch` examples is divided among k processes.
    reduce
        Sums an array over the processes, so that all know all losses; that of torch.distributed if not given.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> smp = DynamicSampler(8, prune=0.5, epochs=10, batch=4)
    >>> for epoch in range(2):
    ...     for positions in smp:
    ...         loss = smp.weigh(torch.from_numpy(positions).float())
    ...     print(smp.visited)
    8
    4
    """

    def __init__(
        self,
        n: int,
        prune: float = 0.5,
        epochs: int = 30,
        *,
        batch: int | None = 128,
        steps: int | None = None,
        anneal: float = 0.125,
        rule: str | KeepRule = "loss",
        leave_out: ArrayLike | None = None,
        seed: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
        reduce: Reduce | None = None,
    ) -> None:
        self._replicas, self._rank = processes(OWNER, num_replicas, rank)
        self.n = checks.integer("n", OWNER, n, low=self._replicas)
        self.prune = checks.number("prune", OWNER, prune, low=0, high=1, open_high=True)
        self.epochs = checks.integer("epochs", OWNER, epochs, low=1)
        self.batch = None if batch is None else checks.integer("batch", OWNER, batch, low=1)
        self.steps = None if steps is None else checks.integer("steps", OWNER, steps, low=1)
        if self.batch is None and (self.steps is not None or self._replicas > 1):
            raise InputError(f"batch of {OWNER} must be a number if steps are counted or there are several processes.")
        self.anneal = checks.number("anneal", OWNER, anneal, low=0, high=1)
        self._rule = rule if callable(rule) else RULES[checks.choice("rule", OWNER, rule, RULES)]
        self._candidates = remaining(OWNER, self.n, leave_out)
        self._seed = checks.integer("seed", OWNER, seed, low=0)
        self._epoch = self._done = 0  # the epoch of the next or current iteration; batches given before it
        self._start = self._given = 0  # where in the epoch the iteration began, and the batches it has given
        self._under_way = self._resumed = False
        self._plan: EpochPlan | None = None  # of the current or latest iteration
        self._ahead: EpochPlan | None = None  # of the next one, if its length was asked for
        self._losses = LastLosses(self.n, reduce)
        self._latest: NDArray[np.int64] | None = None  # positions of the latest batch
        self._latest_weights: torch.Tensor | None = None  # their weights over the batch size
        self._outstanding = 0  # batches given since the last `weigh`

    @property
    def finished(self) -> bool:
        """Whether all `steps`, or all `epochs`, have been given."""
        return self._epoch >= self.epochs if self.steps is None else self._done + self._given >= self.steps

    @property
    def visited(self) -> int:
        """Number of examples in the latest epoch, over all processes."""
        return 0 if self._plan is None else self._plan.order.size

    def __len__(self) -> int:
        """Batches (or positions) of the current iteration, or else of the next; on several processes call on all."""
        plan = self._plan if self._under_way and self._plan is not None else self._next()
        if self.batch is None:
            return plan.order.size - self._start - (0 if self._under_way else self._given)
        left = plan.bounds.size - 1 - (0 if self._under_way else self._given)
        return left if self.steps is None else min(left, max(0, self.steps - self._done))

    def __iter__(self) -> Iterator[Any]:
        self.end_epoch()  # of an iteration that was left early
        plan = self._plan = self._next()
        self._under_way, self._resumed, self._ahead, self._outstanding = True, False, None, 0
        if self.batch is None:
            for position in plan.order[self._start + self._given :]:
                self._given += 1
                yield int(position)
        else:
            bounds = plan.bounds[self._given :].tolist()
            batches = [plan.order[first:last] for first, last in pairwise(bounds)]
            rest = self._scaled(plan.order[bounds[0] :])
            weights = rest.split(np.diff(bounds).tolist())  # type: ignore[no-untyped-call]  # one by one costs more
            for where, weight in zip(batches, weights, strict=True):
                if self.steps is not None and self._done + self._given >= self.steps:
                    break
                if self._replicas > 1:
                    mine = slice(self._rank, None, self._replicas)
                    where, weight = where[mine], weight[mine]
                self._latest, self._latest_weights = where, weight
                self._given += 1
                self._outstanding += 1
                yield self._latest.copy()
        self._end()

    def end_epoch(self) -> None:
        """End the current iteration; for trainers that count its batches and never ask for one more."""
        if self._under_way:
            self._end()

    def _end(self) -> None:
        self._done += self._given
        self._epoch, self._start, self._given, self._under_way = self._epoch + 1, 0, 0, False

    def weigh(self, losses: torch.Tensor, positions: ArrayLike | torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss of a batch, and remember the losses for the next epoch.

        Parameters
        ----------
        losses
            One loss per example.
        positions
            Their positions; if not given, those of the latest batch. A loader with workers asks for batches ahead, so
            give them there. A batch may come in parts: the sum over the parts is the loss of the batch.

        Returns
        -------
        torch.Tensor
            The sum of weight x loss, divided by `batch`. To accumulate gradients over several batches, divide by their
            number, as for a mean.

        Raises
        ------
        InputError
            If the positions do not fit.
        """
        import torch

        where, weights = self._latest, self._latest_weights
        usual = positions is None and self._outstanding == 1 and isinstance(losses, torch.Tensor)
        if not usual or where is None or weights is None or losses.shape != where.shape:  # checked with words
            where = self._weighed(losses, positions)
            if self._plan is None:
                raise InputError(f"weigh of {OWNER} needs a batch of an iteration; none has been started.")
            weights = self._scaled(where)
        self._outstanding = 0
        self._losses.add(where, losses)
        return (losses * weights.to(losses)).sum()

    def _scaled(self, where: NDArray[np.int64]) -> torch.Tensor:
        """The weights at these positions, over the size of a batch."""
        import torch

        assert self._plan is not None
        return torch.from_numpy(self._plan.weights[where] / np.float32(self.batch or where.size))

    def _weighed(self, losses: torch.Tensor, positions: Any) -> NDArray[np.int64]:
        if not hasattr(losses, "detach") or losses.ndim != 1 or not len(losses):
            what = f"shape {tuple(losses.shape)}" if hasattr(losses, "detach") else type(losses).__name__
            raise InputError(
                f"losses of {OWNER}.weigh must be a vector, a tensor with one loss per example; got {what}."
            )
        if positions is None:
            if self._latest is None or self._outstanding > 1:
                raise InputError(
                    f"positions of {OWNER}.weigh must be given if batches are not weighed one by one as they come; "
                    f"{self._outstanding} were given since the last call."
                )
            where = self._latest
        else:
            given = positions.detach().cpu().numpy() if hasattr(positions, "detach") else np.asarray(positions)
            if given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() >= self.n)):
                raise InputError(f"positions of {OWNER}.weigh must be whole numbers from 0 to {self.n - 1}.")
            where = given.astype(np.int64)
        if where.shape != tuple(losses.shape):
            raise InputError(
                f"losses of {OWNER}.weigh must be one per position, {where.size}; got {len(losses)} (for a part of a "
                "batch, give its positions)."
            )
        return where

    def sync(self) -> None:
        """Share the losses since the epoch began among the processes; call on all, such as before a `state_dict`."""
        self._losses.share()

    def _next(self) -> EpochPlan:
        """The plan of the next iteration: made from all losses known when it begins, or that of a resumed epoch."""
        if self._resumed and self._plan is not None:
            return self._plan
        if self._losses.renew():
            self._ahead = None
        if self._ahead is None:
            self._ahead = self._planned()
        return self._ahead

    def _planned(self) -> EpochPlan:
        rng = stream(self._seed, "dynamic sampler", self._epoch)
        keep = np.ones(self.n)
        losses = self._losses.drawn_by
        known = self._candidates[np.isfinite(losses[self._candidates])]
        progress, annealing = self._progress()
        if known.size and not annealing:
            keep[known] = probabilities(self._rule, losses[known], self.prune, progress)
        order = self._candidates[visit(keep[self._candidates], rng)]
        bounds = batch_bounds(self._start, order.size, self._share, self._replicas)
        return EpochPlan(order, (1 / keep).astype(np.float32), bounds)

    def _progress(self) -> tuple[float, bool]:
        """How far the training is, and whether the next epoch belongs to the annealing."""
        if self.steps is None:
            return self._epoch / self.epochs, self._epoch >= int((1 - self.anneal) * self.epochs)
        half = -(-self._candidates.size // self._share) / 2  # the epoch is where its middle would be
        return self._done / self.steps, self._done + half >= (1 - self.anneal) * self.steps

    @property
    def _share(self) -> int:
        """Examples of one batch over all processes."""
        return (self.batch or 1) * self._replicas

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, as trainers do; a running or resumed one is not changed."""
        wanted = checks.integer("epoch", OWNER, epoch, low=0)
        if wanted != self._epoch:
            if self._under_way:
                self._end()
            self._epoch, self._start, self._given, self._resumed, self._ahead = wanted, 0, 0, False, None

    def state_dict(self, consumed: int | None = None) -> dict[str, Any]:
        """The current position, and the losses; on several processes call `sync` on all of them first.

        Parameters
        ----------
        consumed
            Batches (or positions, if `batch` is None) of the latest iteration that were trained on. If not given, all
            that were given: a loader with workers asks for batches ahead, and those would be lost.
        """
        self._losses.read()
        inside = self._under_way or self._resumed
        batches = self._given if consumed is None else checks.integer("consumed", "state_dict", consumed, low=0)
        return {
            "seed": self._seed,
            "epoch": self._epoch,
            "done": self._done,
            "start": self._start,
            "batches": min(batches, self._given),
            "share": self._share,
            "inside": inside,
            "losses": self._losses.drawn_by.copy(),
            "fresh": self._losses.fresh.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another sampler of the same data and settings stopped: first the rest of that epoch."""
        missing = [name for name in self.state_dict() if not isinstance(state, Mapping) or name not in state]
        if missing:
            raise InputError(f"state of {OWNER} must be the state_dict of one; it lacks {missing[0]}.")
        held = [state[name] for name in ("losses", "fresh")]
        tables = [np.array(x.numpy() if hasattr(x, "numpy") else x, dtype=np.float32) for x in held]
        if any(table.shape != (self.n,) for table in tables):
            raise InputError(f"state of {OWNER} must hold {self.n} losses, one per example; got {tables[0].shape}.")
        whole = ("seed", "epoch", "done", "start", "batches", "share")
        seed, epoch, done, start, batches, share = (checks.integer(x, OWNER, int(state[x]), low=0) for x in whole)
        self._seed, self._epoch, self._done, self._start, self._given = seed, epoch, done, start, batches
        self._losses.load(*tables)
        self._latest, self._under_way, self._ahead = None, False, None
        self._resumed = bool(state["inside"])
        self._plan = self._planned() if self._resumed else None
        if self._plan is not None and share != self._share:  # other batches: the rest of the epoch in those
            reached = batch_bounds(start, self._plan.order.size, share, 1)[batches]
            self._start, self._given, self._done = int(reached), 0, done + batches
            self._plan = self._planned()
