"""`select`: check, gather what the method needs, sort by id, choose, and certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Subset, record
from ..artefacts.frozen_arrays import in_order, order_of
from ..artefacts.label_sets import check_label_rows
from ..artefacts.selection_order import SelectionOrder
from ..core import checks, registry
from ..core.comparisons import check_comparisons
from ..core.errors import InputError, NotDefinedError
from ..core.parameter_names import of
from ..core.request import Parameter, Seed, declared, number
from ..scores.score import score as compute
from .balance import Balance, class_counts, class_names, combine, share_of
from .file_selection import check_task, select_rows_of, what_is_known
from .pool import Choice, Pool
from .row_blocks import PoolRows
from .row_selection import MANY, choose_rows

__all__ = ["Keep", "list_selectors", "select", "selection_order"]

Keep = Annotated[float | None, number("Fraction to keep, in (0, 1].", low=0, high=1, open_low=True)]


@dataclass(frozen=True)
class _Request:
    """The input of a selection, in one form however it was passed."""

    method: registry.Method
    scores: Scores | None
    signals: Signals | None

    @property
    def owner(self) -> str:
        return f"selector {self.method.name!r}"

    @property
    def base(self) -> Scores | Signals:
        """The Scores or Signals that define the examples and their labels."""
        scores, signals = self.scores, self.signals
        if scores is not None and (scores.labels is not None or signals is None):
            return scores
        if signals is None:
            raise InputError(f"{self.owner} was given nothing to select from.")
        return signals


def select(
    name: str,
    given: Scores | Signals | str | Path,
    *,
    keep: Keep = None,
    size: Annotated[int | None, Parameter("Instead of --keep: how many to keep.")] = None,
    epsilon: Annotated[
        float | None,
        Parameter("For influence_bound: largest change of a head; without a size, as few examples as it allows."),
    ] = None,
    balance: Balance = "auto",
    seed: Seed = 0,
    signals: Signals | None = None,
    score: Annotated[str | None, Parameter("Score to select by; the selector's usual one if not given.")] = None,
    **parameters: Any,
) -> Subset:
    """Choose which examples to keep.

    Parameters
    ----------
    name
        A registered selector; `list_selectors()` lists them.
    given
        Scores, or Signals. The path of saved scores, or of a folder of them with one file per part of the data, is read
        block by block, so that they need not fit into memory; for selectors with a key per row, such as `rank`,
        `strata`, `tilted` and `random`.
    keep
        Fraction to keep, in (0, 1]; or pass `size`.
    size
        How many to keep; or pass `keep`.
    epsilon
        For a selector with a bound, such as `influence_bound`: the largest change of the head, as a share of its
        length. Without `keep` and `size`, the selector keeps as few as the bound allows, and sets no quotas.
    balance
        Each class keeps at least this share of its equal part, in [0, 1]; None sets no quotas. `auto` is one half for
        classes and None otherwise. With several labels per example, each of K labels is in at least this share of
        size / K kept examples. A number on data without classes or labels is for clusters of the embeddings.
    seed
        Seed of everything random in the selector.
    signals
        Arrays of the same examples that the selector needs in addition to Scores.
    score
        If Signals are given: the score to compute from them, if not the selector's default.
    parameters
        Parameters of the selector, by name.

    Returns
    -------
    Subset
        The kept ids, with weights and a certificate if the selector gives them.

    Raises
    ------
    UnknownNameError
        If there is no selector, score or parameter of that name.
    NotDefinedError
        If the selector is not defined for this task.
    InputError
        If an argument is out of range, or something the selector needs is missing.

    Examples
    --------
    >>> import numpy as np, winnow as wn
    >>> hardness = wn.Scores("mine", np.arange(4), np.array([0.1, 0.9, 0.5, 0.7]))
    >>> sorted(select("rank", hardness, size=2).ids.tolist())
    [1, 3]
    """
    method = registry.get("selector", name)
    if epsilon is not None:
        parameters["epsilon"] = epsilon
    method.check_parameters(parameters)
    wanted = declared(select)["balance"].checked(f"selector {name!r}", balance)
    if isinstance(given, str | Path):
        if method.rows is not None and signals is None and score is None:
            return select_rows_of(given, method, keep, size, wanted, seed, parameters)
        given = Scores.load(given)
    request = _gathered(method, given, signals, score)
    base, owner = request.base, request.owner
    check_task(method, base.task)
    finds_size = keep is None and size is None and method.size_from in parameters
    count = len(base) if finds_size else checks.size_from(f"select({name!r})", len(base), keep, size)
    checks.integer("seed", owner, seed, low=0)
    share = share_of(wanted, base.task if base.labels is not None else "", class_counts(base)) or 0.0
    if finds_size:
        if share and balance != "auto":
            raise InputError(f"{of('balance', owner)} needs keep or size; got {balance} and {method.size_from} alone.")
        share = 0.0
    pool = _pool(request, order_of(base.ids), count, share)
    settings = {**method.parameters, **parameters, "seed": seed}
    check_comparisons(f"selector {name!r}", method, settings, pool.n, pool.labels, count)
    own = {key: value for key, value in settings.items() if key != "seed"}
    if finds_size:
        choice = method.function(pool, None, seed=seed, **own)
        count = choice.positions.size
    elif method.rows is not None and pool.n >= MANY and (share == 0 or pool.labelled):
        names = class_names(pool.classes, pool.labels) if pool.labelled and pool.labels is not None else ()
        chosen, about = choose_rows(method.rows, PoolRows(pool), count, share, names, seed=seed, parameters=own)
        choice = Choice(np.flatnonzero(chosen), certificate=about)
    elif share > 0:
        choice = combine(method.function, pool, count, share, seed=seed, parameters=own, by_group=method.by_group)
    else:
        choice = method.function(pool, count, seed=seed, **own)
    weights = np.ones(count) if choice.weights is None else choice.weights
    asked = {"name": name, "size": count, "keep": keep, "balance": share or None, **settings}
    return Subset(
        ids=pool.ids[choice.positions],
        weights=weights,
        certificate=_certificate(request, pool, choice),
        provenance=record("select", asked, _inputs(request)),
    )


def selection_order(
    name: str,
    given: Scores | Signals,
    size: int,
    *,
    balance: float | None = None,
    seed: int = 0,
    signals: Signals | None = None,
    **parameters: Any,
) -> SelectionOrder | None:
    """The order in which a nested selector takes examples; None if it is not nested, or not with these parameters.

    Parameters
    ----------
    name, given, balance, seed, signals, **parameters
        As for `select`. The order is that without quotas, which are kept beside it.
    size
        A size at which the order is compared with the choice itself.
    """
    method = registry.get("selector", name)
    if not method.nested:
        return None
    request = _gathered(method, given, signals, None)
    pool = _pool(request, order_of(request.base.ids), size, 0.0)
    settings = {**method.parameters, **parameters, "seed": seed}
    whole = method.function(replace(pool, keep=1.0), pool.n, **settings).positions
    part = method.function(pool, size, **settings).positions
    if not np.array_equal(np.sort(whole[:size]), np.sort(part)):  # such as a window in the middle
        return None
    asked = {"name": name, "balance": balance, **settings}
    return SelectionOrder(pool.ids[whole], name, balance, provenance=record("order", asked, _inputs(request)))


def list_selectors() -> list[registry.Method]:
    """List all registered selectors with their needs, tasks, parameters, default score and papers.

    Returns
    -------
    list of Method
        Sorted by name.

    Examples
    --------
    >>> "rank" in [method.name for method in list_selectors()]
    True
    """
    return registry.listing("selector")


def _gathered(method: registry.Method, given: Scores | Signals, signals: Signals | None, score: str | None) -> _Request:
    """Collect scores if the method needs them, computed if only signals were given, and matching signals."""
    owner = f"selector {method.name!r}"
    if signals is not None and not isinstance(signals, Signals):
        raise InputError(f"signals of {owner} must be Signals; got {type(signals).__name__}.")
    if isinstance(given, Scores):
        if score is not None:
            raise InputError(f"score of {owner} says what to compute from Signals; it was given Scores already.")
        return _Request(
            method,
            given if "scores" in method.needs or signals is None else None,
            None if signals is None else signals.take(given.ids),
        )
    if not isinstance(given, Signals):
        raise InputError(f"{owner} selects from Scores or Signals; got {type(given).__name__}.")
    both = given if signals is None else given.merge(signals)
    if "scores" not in method.needs:
        if score is not None:
            raise InputError(f"score of {owner} must be left out: this selector reads no scores; got {score!r}.")
        return _Request(method, None, both)
    wanted = score if score is not None else method.default_score
    if wanted is None:
        raise InputError(f"{owner} needs scores; pass Scores, or the name of a score as score=.")
    return _Request(method, compute(wanted, both), both)


def _pool(request: _Request, order: NDArray[np.int64] | None, count: int, balance: float) -> Pool:
    """Make the pool for the selector: sorted by id, with only the arrays that it reads."""
    base, owner = request.base, request.owner
    ids = in_order(base.ids, order)
    needs = set(request.method.needs - {"scores"})
    if balance > 0 and (base.task not in ("classification", "multilabel") or base.labels is None):
        needs.add("embeddings")
        if request.signals is None or "embeddings" not in request.signals:
            raise NotDefinedError(
                f"balance of {owner} on {base.task} data shares out over clusters of the "
                "embeddings, and there are none here; get them with wn.embed(source, model) and "
                "pass them as signals=."
            )
    arrays = None
    if needs:
        if request.signals is None:
            raise NotDefinedError(
                f"{owner} needs {', '.join(sorted(needs))} beside the scores; pass the signals "
                "they came from as signals=."
            )
        origins = sorted({request.signals.origin(name, owner) for name in needs})
        held = {name: request.signals.arrays[name] for name in origins}
        arrays = replace(request.signals, arrays=held)
        arrays = arrays.take(ids)
    labels = None if base.labels is None else in_order(base.labels, order)
    if base.task == "classification" and labels is not None:
        _check_labels(labels, base.classes, owner)
    if base.task == "multilabel" and labels is not None:
        check_label_rows(labels, len(base.classes) or labels.shape[-1], f"the examples for {owner}")
    scores = request.scores if "scores" in request.method.needs else None
    return Pool(
        n=len(base),
        keep=count / len(base),
        task=base.task,
        labels=labels,
        classes=base.classes,
        scores=None if scores is None else scores.take(ids).values,
        score_name=None if scores is None else scores.name,
        signals=arrays,
        ids=ids,
    )


def _check_labels(labels: NDArray[Any], classes: tuple[str, ...], owner: str) -> None:
    if labels.dtype.kind not in "iu" or labels.min() < 0 or (classes and labels.max() >= len(classes)):
        allowed = f"from 0 to {len(classes) - 1}" if classes else "of at least 0"
        raise InputError(
            f"labels of the examples for {owner} must be class numbers {allowed}; got "
            f"{labels.min()} to {labels.max()} ({labels.dtype})."
        )


def _certificate(request: _Request, pool: Pool, choice: Choice) -> dict[str, Any]:
    """What is known about the subset, for every method alike, and what the method itself says."""
    scores = request.scores if pool.scores is not None else None
    names: tuple[str, ...] = ()
    counts = np.zeros(0, dtype=np.int64)
    if pool.labels is not None and pool.labelled:
        names = class_names(pool.classes, pool.labels)
        counts = np.bincount(pool.labels[choice.positions], minlength=len(names))
    reliability = None if scores is None else scores.reliability
    about = what_is_known(choice.positions.size, pool.n, pool.score_name, reliability, names, counts)
    if pool.task == "multilabel" and pool.labels is not None:
        kept = pool.labels[choice.positions].sum(axis=0, dtype=np.int64)
        names = pool.classes or tuple(map(str, range(kept.size)))
        about["label_counts"] = dict(zip(names, kept.tolist(), strict=True))
    return {**about, **choice.certificate}


def _inputs(request: _Request) -> Mapping[str, Any]:
    made_from: dict[str, Any] = {}
    if request.scores is not None:
        made_from["scores"] = {**request.scores.provenance, "fingerprint": request.scores.fingerprint}
    if request.signals is not None:
        made_from["signals"] = {**request.signals.provenance, "fingerprint": request.signals.fingerprint}
    return made_from
