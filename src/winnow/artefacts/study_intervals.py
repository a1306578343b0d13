"""What the outcomes of a study say: the mean of an arm and the difference of two, with intervals (`intervals`).

Which interval it is depends on what was kept: with the marks of single test examples it is for other seeds and other
test examples, without them for other seeds only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from .class_metrics import BESIDE, LABEL_F1, f1_marks
from .example_marks import unpacked, unpacked_classes
from .intervals import Interval, crossed, difference, mean, paired, with_example_error
from .outcome import Outcome

if TYPE_CHECKING:
    from .study import Study

__all__ = ["difference_of_arms", "label_f1_of_arm", "mean_of_arm", "value_in"]

BOTH = "for other seeds and other test examples"
RESAMPLED = "for other draws of nine tenths of the training set and other test examples"
SEEDS = "for other seeds on this test set only, because marks of single test examples were not kept"


def mean_of_arm(study: Study, arm: str, test: str | None, metric: str | None) -> Interval:
    """As `Study.interval`."""
    word, done = _asked(study, metric), list(study.of(arm, test).values())
    marks, shares = _marks(study, done, word), word != "r2"
    if marks is None:
        values = [value_in(study, o, word) for o in done]
        return replace(mean(values).within(*((0, 1) if shares else (-math.inf, 1))), about=SEEDS)
    counted: Literal["areas", "shares", "r2"] = "areas" if word == "auroc" else "shares" if shares else "r2"
    return crossed(marks, counted=counted, about=_about(study), classes=_strata(study, done, word))


def label_f1_of_arm(study: Study, arm: str, test: str | None) -> dict[str, Interval]:
    """As `Study.beside`."""
    done = [o.beside for o in study.of(arm, test).values() if o.beside]
    found = {}
    for place, name in enumerate(LABEL_F1 if done else ()):
        values, errors = ([one[2 * place + k] for one in done] for k in (0, 1))
        found[name] = with_example_error(values, float(np.mean(errors)), about=_about(study))
    return found


def difference_of_arms(study: Study, arm: str, other: str, test: str | None, metric: str | None) -> Interval:
    """As `Study.versus`."""
    ours, theirs = study.of(arm, test), study.of(other, test)
    shared = sorted(set(ours) & set(theirs))
    if not shared:
        raise InputError(f"arms {arm!r} and {other!r} share no seed.")
    word = _asked(study, metric)
    a, b = ([found[s] for s in shared] for found in (ours, theirs))
    marks, shares = _marks(study, [*a, *b], word), word != "r2"
    if marks is None:
        found = difference([value_in(study, o, word) for o in a], [value_in(study, o, word) for o in b])
        return replace(found.within(-1, 1) if shares else found, about=SEEDS)
    fixed = _fixed(study, arm, other)
    about = f"{'this way of choosing' if fixed else 'these training sets'}; {_about(study)}"
    strata = _strata(study, a, word)
    mine, its, area = marks[: len(a)], marks[len(a) :], word == "auroc"
    apart = _apart(study, arm, other)
    return paired(mine, its, fixed=fixed, apart=apart, binary=shares, area=area, about=about, classes=strata)


def value_in(study: Study, outcome: Outcome, metric: str) -> float:
    """The value of an outcome in a metric that was measured."""
    return outcome.value if metric == study.metric else float(getattr(outcome, metric))


def _fixed(study: Study, arm: str, other: str) -> Literal["ours", "theirs"] | None:
    """Which of two arms is one draw among many, while the other is drawn anew with each seed."""
    a, b = study.arm(arm), study.arm(other)
    if a.drawn_anew == b.drawn_anew:
        return None
    still: Literal["ours", "theirs"] = "theirs" if a.drawn_anew else "ours"
    return still if (b if a.drawn_anew else a).kind == "subset" else None  # everything is not a draw


def _apart(study: Study, arm: str, other: str) -> bool:
    """Whether both arms are drawn anew with each seed, each in its own way, so that they share no training set."""
    a, b = study.arm(arm), study.arm(other)
    return a.drawn_anew and b.drawn_anew and a.kind != b.kind


def _about(study: Study) -> str:
    return RESAMPLED if study.resampled else BOTH


def _asked(study: Study, metric: str | None) -> str:
    return study.metric if metric is None else checks.choice("metric", "study", metric, study.metrics)


def _strata(study: Study, done: Sequence[Outcome], metric: str) -> NDArray[np.int64] | None:
    """The classes of the test examples, for a metric that is a mean over classes; None for the others."""
    if metric not in BESIDE or study.test_labels is None:
        return None
    return unpacked_classes(bytes.fromhex(study.test_labels[done[0].test]))


def _marks(study: Study, done: Sequence[Outcome], metric: str) -> NDArray[np.float64] | None:
    """Marks of single test examples in a metric, outcomes x examples; None unless all have them."""
    labels = _strata(study, done, metric)
    if metric in BESIDE and labels is None:
        return None
    held = [{"macro_f1": o.predicted, "auroc": o.placements}.get(metric, o.marks) for o in done]
    packed = [one for one in held if one]
    if metric == "macro_f1" and labels is not None:
        rows = [f1_marks(unpacked_classes(one), labels, len(study.classes)) for one in packed]
    else:
        rows = [unpacked(one, binary=metric in ("accuracy", "balanced_accuracy")) for one in packed]
    return np.stack(rows) if len(rows) == len(done) and len({row.size for row in rows}) == 1 else None
