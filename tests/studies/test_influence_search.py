"""The search part: a quick run, a second from the shelf, and a verdict that follows the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studies.influence import search
from studies.parts import Asked
from studies.shelf import Shelf

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")

TRUTH = [0.5, 0.6, 0.7, 0.8]
BACKWARDS, SWAPPED = TRUTH[::-1], [0.5, 0.6, 0.8, 0.7]


def kept(seed: int, seen: dict[str, list[float]]) -> dict[str, Any]:
    """What one seed leaves on the shelf: full-data accuracies are the truth, a proxy's are as given."""
    full = [["full", "full", 100, 1.0, {}]]
    arms = full + [
        [method, "subset", 10, 0.1, {"select": 1.0} if method == search.CHANCE else {"observe": 4.0, "select": 2.0}]
        for method in search.METHODS
    ]
    outcomes = {
        f"net{i}": [
            [name, seed, test, seen.get(name, TRUTH)[i], 0.0, 5, 10.0 if name == "full" else 1.0]
            for name, *_ in arms
            for test in ("choose", "judge")
        ]
        for i in range(4)
    }
    return {"arms": arms, "outcomes": outcomes}


def found(seen: dict[str, list[float]]) -> dict[str, Any]:
    return {"made-up": search.joined([kept(seed, seen) for seed in range(3)])}


def test_a_quick_run_is_read_from_the_shelf_the_second_time(mnist: None, tmp_path: Path) -> None:
    asked = Asked(Shelf(tmp_path / "run", "influence search"), tmp_path / "run", ("mnist",), 2, quick=True)
    part = search.run(asked)
    assert part.name == "search"
    assert len(part.table) == 4 + len(search.METHODS) + 1
    assert part.figure is not None
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()}
    again = search.run(asked)
    assert again == part
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()} == times


def test_proxies_are_alike_in_size_and_classes(mnist: None) -> None:
    import winnow as wn

    proxies = search.chosen("mnist", search.QUICK, 0)
    source = search.drawn("mnist", "train", search.QUICK.full)
    assert set(proxies) == set(search.METHODS)
    for about in proxies.values():
        labels = source.labels[wn.Subset(about["ids"]).indices(source)]
        assert [int((labels == k).sum()) for k in range(10)] == [4] * 10
    assert len({tuple(sorted(about["ids"])) for about in proxies.values()}) >= 5


def test_the_table_says_what_the_numbers_say() -> None:
    rows = {
        cells[1]: cells
        for line in search.table(found({search.CHANCE: BACKWARDS, "herding": SWAPPED}))[4:]
        for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    assert rows["random"][2] == "-1.00 ± 0.00"
    assert rows["influence"][2:4] == ["1.00 ± 0.00", "+2.00 ± 0.00 ▲"]
    assert rows["herding"][2] == "0.80 ± 0.00"
    assert (rows["random"][5], rows["herding"][5], rows["influence"][5]) == (
        "30.00 ± 0.00",
        "10.00 ± 0.00",
        "0.00 ± 0.00",
    )
    assert rows["random"][6] == "50.0 ± 0.0"
    assert (rows["random"][8], rows["influence"][8], rows["full, another seed"][8]) == ("5", "10", "40")


def test_a_claim_that_holds_and_one_that_fails_are_told_apart() -> None:
    said = "\n".join(search.verdict(found({search.CHANCE: BACKWARDS})))
    assert "that influence ranks better than random holds (+2.00, +2.00 to +2.00)" in said
    assert "that influence ranks better than forgetting is not decided" in said
    assert "that its winner loses less than random's holds (-30.00 points" in said
    assert "takes 25 % of the time on the full data, finding them counted, on random ones 12 %" in said
    assert "span 30.0 points" in said
    assert "among its own top 4, influence 1.00 ± 0.00, less random's +2.00 ± 0.00 ▲ (better), less that of" in said
    assert "told from random: herding, forgetting, GraNd, EL2N, influence-score, influence" in said
    said = "\n".join(search.verdict(found({search.OURS: BACKWARDS})))
    assert "that influence ranks better than random does not hold (-2.00" in said
    assert "told from random: influence;" in said
    assert "that influence ranks better than forgetting does not hold (-2.00" in said
    assert "that its winner loses less than random's does not hold (+30.00 points" in said
