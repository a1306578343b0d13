"""What a registered method declares: needs, parameters, tasks, cost and, for a signal, its arrays.

`registry` holds these values. `observe`, the rehearsal, `plan`, the command line, the docs and `winnow.testing` read
them; none of these knows a method by name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .code_digest import code_digest
from .errors import InputError, UnknownNameError

__all__ = [
    "ALL_TASKS",
    "AGAIN",
    "AXES",
    "Adapter",
    "Cost",
    "Kind",
    "ArrayLayout",
    "Method",
    "Registration",
    "STACKED",
    "Signal",
]

Kind = Literal["signal", "score", "selector", "source", "network", "engine"]
Moment = Literal["data", "training", "epoch", "trained", "ensemble", "fold"]
Arrays = Mapping[str, NDArray[Any]]
MakeUp = Callable[[Mapping[str, int], NDArray[np.int64], NDArray[np.float64], np.random.Generator], Arrays]

ALL_TASKS = ("classification", "multilabel", "regression", "unlabelled")
AXES = ("seeds", "models", "epochs", "examples", "classes", "embedding", "projection")
STACKED = ("seeds", "models")  # axes along which trainings are stacked
GROWTHS = ("once", "n", "n classes", "n kept", "class^2", "n^2", "look", "gradient")
AGAIN = "_again"  # suffix of an array computed again, with the network of the second seed


@dataclass(frozen=True)
class Cost:
    """How time and memory grow.

    Parameters
    ----------
    time
        Of a score or selector: `once` reads everything once and sorts, which takes negligible time; `n`, `n classes`
        and `n kept` grow with the number of examples, the latter two also with the number of classes or of kept
        examples; `class^2` compares all examples within each class, `n^2` all with all. Of a signal: `once` costs
        nothing beyond the training, `look` is a forward pass per example, `gradient` a separate backward pass per
        example.
    memory
        How many copies of the arrays it needs are in memory at the peak, besides the signals themselves.
    """

    time: str = "once"
    memory: float = 0.0

    def __post_init__(self) -> None:
        if self.time not in GROWTHS:
            raise UnknownNameError.of("time of Cost", self.time, GROWTHS)

    @property
    def pairs(self) -> bool:
        """Whether examples are compared with each other."""
        return self.time in ("class^2", "n^2")


@dataclass(frozen=True)
class ArrayLayout:
    """The shape of an array of Signals.

    Parameters
    ----------
    axes
        One word of `AXES`, or a fixed length, per axis. `examples` is among them; `seeds` or `models` comes first.
        Without either, only the network of the first seed gives the array.
    dtype
        The type of its numbers.
    tasks
        The tasks that have it, if not all those of its signal.
    """

    axes: tuple[str | int, ...]
    dtype: str = "float32"
    tasks: tuple[str, ...] = ALL_TASKS

    def __post_init__(self) -> None:
        known = all(axis in AXES or (isinstance(axis, int) and axis > 0) for axis in self.axes)
        if not known or self.axes.count("examples") != 1 or any(axis in STACKED for axis in self.axes[1:]):
            raise InputError(
                f"axes of an array must be lengths or words of {', '.join(AXES)}, 'examples' once, 'seeds' or 'models' "
                f"first; got {self.axes}."
            )

    @property
    def example_axis(self) -> int:
        """Return the number of the axis that runs over examples."""
        return self.axes.index("examples")

    @property
    def stacked(self) -> bool:
        """Whether the first axis runs over trainings."""
        return self.axes[0] in STACKED

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape, given the length of each named axis."""
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.axes)

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """Return the size of the whole array in bytes."""
        return math.prod(self.shape(sizes)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Registration:
    """What all kinds have in common: a name, a function or class, and its declarations."""

    kind: Kind
    name: str
    function: Callable[..., Any]
    needs: frozenset[str] = frozenset()
    paper: str = ""
    tasks: frozenset[str] = frozenset(ALL_TASKS)
    cost: Cost | Callable[..., Cost] = field(default_factory=Cost)

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def package(self) -> str:
        """The package it comes from: `winnow` or another one."""
        return self.function.__module__.partition(".")[0]

    @property
    def code(self) -> str:
        """Digest of its code, for the key of a step that uses it."""
        return code_digest(self.function)

    @property
    def parameters(self) -> dict[str, Any]:
        """Keyword-only parameters of the function and their defaults; all parameters of a class."""
        made = isinstance(self.function, type)
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY or made
        }

    def check_parameters(self, given: Iterable[str]) -> None:
        """Raise an error if the method does not have one of these parameters."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise UnknownNameError.of(f"parameter of {self.kind} {self.name!r}:", name, known or ["(none)"])

    def cost_of(self, parameters: Mapping[str, Any]) -> Cost:
        """Return the cost with these parameters and the defaults of all others."""
        return self.cost if isinstance(self.cost, Cost) else self.cost(**{**self.parameters, **parameters})

    def as_dict(self) -> dict[str, Any]:
        """Return everything that is declared, as plain values."""
        cost = self.cost_of({})
        return {
            "kind": self.kind,
            "name": self.name,
            "needs": sorted(self.needs),
            "tasks": sorted(self.tasks),
            "paper": self.paper,
            "summary": self.summary,
            "parameters": self.parameters,
            "default_score": getattr(self, "default_score", None),
            "cost": {"time": cost.time, "memory": cost.memory},
            "package": self.package,
        }


@dataclass(frozen=True)
class Method(Registration):
    """A registered score or selector; `uses` are arrays that it reads where signals hold them."""

    uses: frozenset[str] = frozenset()
    default_score: str | None = None
    by_group: bool = False
    nested: bool = False
    rows: Callable[..., Any] | None = None
    size_from: str | None = None


@dataclass(frozen=True)
class Network(Registration):
    """A registered network: the function that makes it, the usual shape of an example, and whether it takes text."""

    shape: tuple[int, ...] = ()
    text: bool = False

    @property
    def options(self) -> list[str]:
        """Names of its options."""
        return list(self.parameters)


@dataclass(frozen=True)
class Adapter(Registration):
    """A registered adapter, and how it recognises what it opens; see `registry.source`."""

    reads: str = ""
    endings: tuple[str, ...] = ()
    folder: Callable[[Any], object] | None = None
    value: Callable[[Any], object] | None = None


@dataclass(frozen=True)
class Signal(Registration):
    """A registered signal: its arrays, and when they are computed."""

    arrays: Mapping[str, ArrayLayout] = field(default_factory=dict)
    packed: Mapping[str, ArrayLayout] = field(default_factory=dict)  # what may be stored instead
    when: Moment = "trained"
    make_up: MakeUp | None = None
    examples: frozenset[str] = frozenset()  # kinds of examples that it is defined for; all if empty
    model: str = ""  # how the names of the models begin that it is defined for; all if empty

    @property
    def stacked(self) -> bool:
        """Whether every training gives its own arrays; otherwise only the first two do."""
        return any(layout.stacked for layout in self.arrays.values())

    def layout(self, name: str) -> ArrayLayout:
        """Return the layout of one of its arrays, or of what is stored instead."""
        return self.arrays[name] if name in self.arrays else self.packed[name]

    def as_dict(self) -> dict[str, Any]:
        """Return everything that is declared, with when it is computed and the shape of its arrays."""
        arrays = {name: {"axes": layout.axes, "dtype": layout.dtype} for name, layout in self.arrays.items()}
        return {**super().as_dict(), "when": self.when, "arrays": arrays}

    def made_up(
        self,
        sizes: Mapping[str, int],
        labels: NDArray[np.int64],
        hardness: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> dict[str, NDArray[Any]]:
        """Make up arrays of the declared shapes, for rehearsals and forecasts; empty arrays are left out."""
        shapes = {name: layout.shape(sizes) for name, layout in self.arrays.items()}
        wanted = [name for name, shape in shapes.items() if all(shape)]
        if self.make_up is not None:
            made = self.make_up(sizes, labels, hardness, rng)
            return {name: np.asarray(made[name], dtype=self.arrays[name].dtype) for name in wanted if name in made}
        noise = {name: rng.random(shapes[name], dtype=np.float32) for name in wanted}
        return {name: _as_type(values, self.arrays[name].dtype) for name, values in noise.items()}


def _as_type(noise: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    """Convert noise in [0, 1) to a type; integers become zeros and ones."""
    return (2 * noise if np.dtype(dtype).kind in "iub" else noise).astype(dtype)


def check_moment(moment: str) -> None:
    """Raise an error for an unknown moment."""
    if moment not in get_args(Moment):
        raise UnknownNameError.of("when of a signal", moment, get_args(Moment))
