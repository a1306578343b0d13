from __future__ import annotations

from pathlib import Path

import pytest

from winnow.core.errors import WinnowError

from .refusals import REFUSALS, Refusal


@pytest.mark.parametrize("refusal", REFUSALS, ids=[item.name for item in REFUSALS])
def test_bad_input_is_refused_in_one_sentence(refusal: Refusal, tmp_path: Path) -> None:
    with pytest.raises(WinnowError) as caught:
        refusal.call(tmp_path)
    text = str(caught.value)
    assert refusal.fragment in text
    assert "\n" not in text
    assert text.endswith(".")
    assert caught.value.__cause__ is None


def test_the_table_names_each_kind_once() -> None:
    names = [item.name for item in REFUSALS]
    assert len(set(names)) == len(names) >= 40
