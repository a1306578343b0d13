"""Selection from a file of scores, without ever holding them: a flag per row, and the kept ids at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Subset, record
from ..artefacts.quotas import balance_of_counts
from ..core import checks, registry
from ..core.errors import NotDefinedError
from .balance import share_of
from .row_blocks import ScoresFile
from .row_selection import choose_rows
from .row_turn import group_counts

__all__ = ["check_task", "select_rows_of", "what_is_known"]


def select_rows_of(
    path: str | Path,
    method: registry.Method,
    keep: float | None,
    size: int | None,
    balance: float | str | None,
    seed: int,
    parameters: Mapping[str, Any],
) -> Subset:
    """Choose from saved scores.

    Parameters
    ----------
    path
        What `Scores.save` wrote, or a folder of such files.
    method
        A selector with `rows`.
    keep, size, balance, seed, parameters
        As for `select`; balance and the names of the parameters have been checked.
    """
    rows, owner = ScoresFile(path), f"selector {method.name!r}"
    check_task(method, rows.task)
    count = checks.size_from(f"select({method.name!r})", rows.n, keep, size)
    checks.integer("seed", owner, seed, low=0)
    counted = group_counts(rows, len(rows.class_names)) if rows.labelled and balance == "auto" else None
    share = share_of(balance, rows.task if rows.labelled else "", counted) or 0.0
    if share and not rows.labelled:
        raise NotDefinedError(
            f"balance of {owner} needs class labels beside the scores, and {rows.path} holds none; pass balance=None."
        )
    own = {key: value for key, value in {**method.parameters, **parameters}.items() if key != "seed"}
    assert method.rows is not None
    chosen, about = choose_rows(method.rows, rows, count, share, rows.class_names, seed=seed, parameters=own)
    ids, counts = rows.taken(chosen)
    asked = {"name": method.name, "size": count, "keep": keep, "balance": share or None, **own, "seed": seed}
    origin = {**rows.about.get("provenance", {}), "digest": rows.digest}
    scored = (rows.score_name, rows.about.get("reliability")) if "scores" in method.needs else (None, None)
    known = what_is_known(count, rows.n, *scored, rows.class_names, counts)
    return Subset(ids=ids, certificate={**known, **about}, provenance=record("select", asked, {"scores": origin}))


def check_task(method: registry.Method, task: str) -> None:
    """Raise if the selector is not defined for a task."""
    if task not in method.tasks:
        why = "is about one class per example" if task == "multilabel" else "compares with class labels"
        raise NotDefinedError(
            f"selector {method.name!r} is defined for {' and '.join(sorted(method.tasks))}, not for {task} data: it "
            f"{why}."
        )


def what_is_known(
    size: int, n: int, score: str | None, reliability: float | None, names: tuple[str, ...], counts: NDArray[np.int64]
) -> dict[str, Any]:
    """What every certificate says; names and counts are empty without classes."""
    return {
        "size": int(size),
        "fraction": size / n,
        "class_counts": dict(zip(names, counts.tolist(), strict=True)) if names else None,
        "class_balance": balance_of_counts(counts) if names else None,
        "score": score,
        "reliability": reliability,
    }
