"""The parameters that `prune` and its relatives share: what each is, how it is checked, and its option."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..artefacts import Signals
from ..artefacts.decisions import read_decisions
from ..artefacts.plan import Plan
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.parameter_names import of
from ..core.request import Parameter, choice, flag, number, whole
from ..models.identity import describe, resolved

__all__ = [
    "EarlierPlan",
    "KeepSuspects",
    "MethodName",
    "Observer",
    "Pairs",
    "Recorded",
    "Said",
    "Tolerance",
    "TrainOn",
]

TARGETS = ("soft", "labels")
Tolerance = Annotated[
    float | None,
    number("Instead of --keep: how much accuracy may be lost.", low=0, high=1, open_low=True, open_high=True),
]
MethodName = Annotated[
    str, Parameter("A score, a selector or score+selector, with parameters as in el2n(epoch=3); or auto.")
]
Observer = Annotated[
    Any,
    Parameter(
        "A cheaper network for observing and for the trainings of --veto; the model itself if not given.",
        resolved,
        plain=describe,
        kind=str | None,
    ),
]
TrainOn = Annotated[
    str, choice("Targets of the subset; auto takes those that the method is meant for", ("auto", *TARGETS))
]
KeepSuspects = Annotated[bool, flag("Let auto also choose examples whose labels are likely wrong.")]
Pairs = Annotated[
    int | None,
    whole("Pairs of short trainings that compare the choice of auto with random; 0 skips this trial.", low=0),
]


def _recorded(name: str, owner: str, value: Any) -> Signals:
    if not isinstance(value, Signals):
        raise InputError(
            f"{of(name, owner)} must be Signals, as wn.observe or a Recorder gives; got {type(value).__name__}."
        )
    return value


Recorded = Annotated[Signals | None, Parameter("", _recorded, plain=lambda found: found.fingerprint, option=None)]


def _read_plan(name: str, owner: str, value: Any) -> Plan:
    if isinstance(value, Plan):
        return value
    if not isinstance(value, str | Path):
        raise InputError(
            f"{of(name, owner)} must be a Plan, or a run directory that holds one; got {type(value).__name__}."
        )
    return Plan.load(value)


EarlierPlan = Annotated[
    Plan | str | Path | None,
    Parameter(
        "Run directory of winnow plan --pilot, whose trainings replace most of those of --veto.",
        _read_plan,
        plain=None,
        kind=Path | None,
    ),
]


Said = Annotated[
    Any,
    Parameter(
        "Your marks on examples: the marks.parquet of winnow view, or a CSV file exported from check.html.",
        lambda name, owner, value: read_decisions(value),
        plain=lambda said: fingerprint(sorted((id, str(one)) for id, one in said.items())),
        kind=str | None,
    ),
]
