"""Fingerprints in pieces are those of the whole, and large arrays are checked some at a time."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import canonical_bytes
from winnow.artefacts.canonical_bytes import array_bytes, id_bytes
from winnow.core import checks
from winnow.core.errors import InputError
from winnow.core.files import fingerprint


@pytest.mark.parametrize("ids", [np.array([30, 7, -2, 11, 5]), np.array(["b", "zwei", "a", "ä", "c"])])
def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch, ids: np.ndarray) -> None:
    monkeypatch.setattr(canonical_bytes, "ROWS", 2)
    order = np.argsort(ids)
    text = "\n".join(map(str, ids[order].tolist())).encode()
    assert fingerprint(id_bytes(ids, order)) == fingerprint(text)
    for axis, shape in enumerate([(5, 3), (2, 5, 3), (2, 4, 5)]):
        values = np.random.default_rng(0).random(shape).astype(np.float32)
        whole = np.ascontiguousarray(np.take(values, order, axis=axis)).tobytes()
        assert fingerprint("x", array_bytes(values, order, axis)) == fingerprint("x", whole)


def test_a_fingerprint_is_what_it_always_was() -> None:
    """Runs and provenance of earlier versions hold these."""
    assert wn.Scores("mine", ["b", "a"], [0.5, 2.0]).fingerprint == fingerprint(b"a\nb", np.array([2.0, 0.5]).tobytes())
    assert wn.Subset([3, 1]).fingerprint == fingerprint(b"1\n3", np.ones(2).tobytes())


@pytest.mark.parametrize("place", [0, 4, 11])
def test_a_number_that_is_not_finite_is_found_wherever_it_is(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    monkeypatch.setattr(checks, "FLAGS", 5)
    values = np.zeros((3, 4))
    assert checks.finite("x", "y", values) is values
    values.flat[place] = np.nan
    at = tuple(int(one) for one in np.unravel_index(place, (3, 4)))
    with pytest.raises(InputError, match=f"1 value\\(s\\) are NaN or infinite, the first at \\({at[0]}, {at[1]}\\)"):
        checks.finite("x", "y", values)
