"""The parameters of `check`: what is allowed, how they are stored, and their options on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from ..artefacts import Signals
from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.parameter_names import of
from ..core.request import Parameter
from ..models.identity import describe
from ..signals.embed import weights_of

__all__ = ["KINDS", "Looked", "Marks", "Rows", "Seen", "TestRows", "TestSet", "is_network", "is_none", "plain_rows"]

KINDS = ("label", "duplicate", "outlier", "value", "leak", "class", "column", "drift")


def is_network(given: Any) -> bool:
    """Whether embeddings are to be computed, by the name of a network or a module."""
    return isinstance(given, str) or hasattr(given, "state_dict")


def is_none(given: Any) -> bool:
    """Whether no embeddings are wanted, not even those of an open encoder that is installed."""
    return isinstance(given, str) and given == "none"


def plain_rows(given: Any) -> Any:
    """What identifies embeddings: their content, or the network and its weights."""
    if isinstance(given, Signals):
        return given.fingerprint
    if isinstance(given, str):
        return given
    if is_network(given):
        return {"network": describe(given), "weights": weights_of(given)}
    return fingerprint(np.ascontiguousarray(np.asarray(given, dtype=np.float32)).tobytes())


def _recorded(name: str, owner: str, value: Any) -> Signals:
    if not isinstance(value, Signals):
        raise InputError(
            f"{of(name, owner)} must be Signals, as wn.observe or a Recorder gives; got {type(value).__name__}."
        )
    return value


def _rows(name: str, owner: str, value: Any) -> Any:
    if isinstance(value, Signals) or is_network(value):
        return value
    return checks.array(name, owner, value, ndim=2, dtype=np.float32)


def _kinds(name: str, owner: str, value: Any) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value)
    return tuple(dict.fromkeys(checks.choice(name, owner, word, KINDS) for word in words))


TestSet = Annotated[
    Any,
    Parameter(
        "Test data, to find leaks and drift; the test split of the data if not given.", plain=None, kind=str | None
    ),
]
Seen = Annotated[Signals | None, Parameter("", _recorded, plain=lambda signals: signals.fingerprint, option=None)]
Rows = Annotated[
    Any,
    Parameter(
        "Network to embed with, or encoder for the installed open encoder; then only a linear head is trained. none: "
        "do not use the open encoder either.",
        _rows,
        plain=plain_rows,
        kind=str,
    ),
]
TestRows = Annotated[Any, Parameter("", _rows, plain=plain_rows, option=None)]
Looked = Annotated[
    str | Iterable[str] | None,
    Parameter(f"What to look for: {', '.join(KINDS)}; may be given several times.", _kinds, kind=list[str] | None),
]
Marks = Annotated[
    Any,  # other marks need no other training, so they are not among the settings of a run
    Parameter(
        "Verdicts on earlier findings: a file that check.html or winnow view wrote.", plain=None, kind=str | None
    ),
]
