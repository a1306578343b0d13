from __future__ import annotations

import pytest


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search within a tolerance that ends at half of the data, after four sizes instead of 25."""
    monkeypatch.setattr("winnow.pruning.tolerance_search.SMALLEST", 0.45)
