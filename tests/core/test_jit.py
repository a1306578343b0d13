"""Functions compiled on first use say so."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from numba.core import event

from winnow.core import jit


@jit.compiled
def doubled(values):
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = 2.0 * values[i]
    return out


def test_compilation_is_shown_as_one_task_however_many_functions_it_takes(monkeypatch):
    said = []

    @contextmanager
    def task(label):
        said.append(label)
        yield
        said.append("done")

    monkeypatch.setattr(jit, "task", task)
    assert doubled(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    said.clear()  # compiled or read from the cache, whatever ran before
    with event.trigger_event("numba:compile", data={}), event.trigger_event("numba:compile", data={}):
        assert said == ["compiling, once per installation"]
    assert said[1:] == ["done"]
