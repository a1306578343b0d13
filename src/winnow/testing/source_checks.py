"""Checks of every source."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

import numpy as np

from ..artefacts import Source
from ..artefacts.task_labels import TASKS

__all__ = ["checks_of_source"]


def _examples_by_id(open_: Callable[[], Source]) -> None:
    source = open_()
    assert isinstance(source, Source), f"an adapter must return a Source; got {type(source).__name__}"
    n = len(source)
    assert n > 0
    assert len(set(source.ids.tolist())) == n, "ids must be unique"
    some = source.ids[:: max(1, n // 5)]
    everything = source.read(np.arange(n))
    assert everything.shape == (n, *source.shape)
    positions = [source.ids.tolist().index(identity) for identity in some.tolist()]
    assert np.array_equal(source.fetch(some), everything[positions]), "fetch must return the examples of the ids"
    assert np.array_equal(source.read(np.array([n - 1, 0])), everything[[n - 1, 0]]), "read must follow the positions"


def _says_its_task(open_: Callable[[], Source]) -> None:
    source = open_()
    assert source.task in TASKS
    assert (source.labels is None) == (source.task == "unlabelled")
    if source.labels is not None:
        assert len(source.labels) == len(source)
    if source.task == "classification":
        assert set(np.asarray(source.labels).tolist()) <= set(range(len(source.classes)))


def _same_data_same_fingerprint(open_: Callable[[], Source]) -> None:
    first, second = open_(), open_()
    assert first.fingerprint == second.fingerprint
    assert np.array_equal(first.ids, second.ids)
    mixed = first.at(np.random.default_rng(0).permutation(len(first)))
    assert mixed.fingerprint == first.fingerprint, "the fingerprint must not depend on the order"


def _reaches_a_worker(open_: Callable[[], Source]) -> None:
    source = open_()
    back = pickle.loads(pickle.dumps(source))
    assert np.array_equal(back.read(np.arange(len(source))), source.read(np.arange(len(source))))
    assert back.fingerprint == source.fingerprint


def _says_where_it_is_from(open_: Callable[[], Source]) -> None:
    source = open_()
    assert source.name
    assert source.origin.get("adapter"), "origin must name the adapter"


SOURCE_CHECKS = (
    _examples_by_id,
    _says_its_task,
    _same_data_same_fingerprint,
    _reaches_a_worker,
    _says_where_it_is_from,
)


def checks_of_source(open_: Callable[[], Source]) -> dict[str, Callable[[], None]]:
    """Return every check of a source by name; the function opens the source."""
    return {check.__name__[1:]: partial(check, open_) for check in SOURCE_CHECKS}
