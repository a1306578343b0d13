"""What a scikit-learn estimator shows of each example: out-of-fold predictions, and dynamics.

Dynamics come from the stages of one fit, if it has any (`training.staged_estimators`). If not, they are those of its
out-of-fold predictions, as if they were the only epoch of a training: what an estimator says of the examples that it
was fitted to may be no more than its memory of them. For the same reason `predictions` are out of fold wherever `oof`
is observed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..artefacts.labelled_logits import LabelledLogits
from ..core import registry
from ..core.errors import NotDefinedError
from ..core.parameter_names import of
from ..training.estimators import check as check_estimator
from ..training.staged_estimators import has_stages
from .dynamics import DYNAMICS, LOGITS, PREDICTIONS

__all__ = ["check_observed", "entries_for", "joined_by_estimator"]

GIVEN = ("oof", "dynamics", "predictions", "logits", "losses")


def check_observed(source: Source, model: Any, words: Sequence[str], recipe: object) -> None:
    """Raise if an estimator cannot give these signals."""
    check_estimator(source, model, recipe=recipe, match_iterations=0.0, by_weight=False, owner="observe")
    others = [word for word in words if word not in GIVEN and registry.get("signal", word).when != "data"]
    if others:
        raise NotDefinedError(
            f"{of('model', 'observe')} must be a network for {', '.join(others)}; an estimator gives "
            f"{', '.join(GIVEN)}."
        )


def entries_for(want: Sequence[str], model: Any, task: str) -> list[registry.Signal]:
    """Return the signals to compute with an estimator: those of its stages, and of folds."""
    found = [registry.get("signal", word) for word in dict.fromkeys(want)]
    staged = [entry for entry in found if entry.when == "training"]
    rest = [entry for entry in found if entry.when != "training"]
    if has_stages(model, task) or not staged:
        return [*staged, *rest]
    return [*rest, *([] if "oof" in want else [registry.get("signal", "oof")])]


def joined_by_estimator(found: Signals, want: Sequence[str], model: Any) -> Signals:
    """Return the signals of an estimator with the arrays that follow from its out-of-fold predictions."""
    if "oof" not in found.arrays:
        return found
    arrays, axes = dict(found.arrays), dict(found.axes or {})
    groups: dict[str, Iterable[str]]
    groups = {"dynamics": DYNAMICS, "predictions": PREDICTIONS, "logits": LOGITS, "losses": LOGITS}
    wanted = {name for word in want for name in groups.get(word, ())}
    if "predictions" in wanted:
        arrays["predictions"] = found.arrays["oof"]
        axes["predictions"] = registry.layout_of("predictions").axes
    if has_stages(model, found.task) or not wanted - set(PREDICTIONS):
        return replace(found, arrays=arrays, axes=axes)
    more = {name: values for name, values in _one_epoch(found).items() if name in wanted}
    axes |= {name: registry.layout_of(name).axes for name in more}
    return replace(found, arrays={**arrays, **more}, axes=axes, epochs=(1,), planned_epochs=1)


def _one_epoch(found: Signals) -> dict[str, NDArray[Any]]:
    """The dynamics of out-of-fold predictions: seeds x 1 x examples."""
    oof = found.arrays["oof"].astype(np.float64)
    labels = np.asarray(found.labels)
    if found.task == "regression":
        truth = labels.reshape(len(found), -1)
        losses = (np.square(oof - truth) / truth.var(0)).mean(2)  # in units of the standardised target, as for networks
        return {"losses": losses[:, None].astype(np.float32)}
    logits = np.log(np.maximum(oof, np.finfo(np.float32).tiny))
    seen = [LabelledLogits(one, labels) for one in logits]
    made = {
        name: np.stack([one.array(name) for one in seen])[:, None].astype(registry.layout_of(name).dtype)
        for name in DYNAMICS
    }
    return {**made, "logits": logits[:, None].astype(np.float32)}
