from studies.parts import Asked
from studies.rela import distances
from studies.shelf import Shelf


def test_quick_run_measures_both_ways_and_goes_on(tmp_path, mnist, monkeypatch):
    asked = Asked(Shelf(tmp_path / "x", "rela x"), tmp_path / "x", ("mnist",), 2, quick=True)
    part = distances.run(asked)
    assert sum(line.startswith(("| raw pixels", "| untrained")) for line in part.table) == 2
    monkeypatch.setattr(distances, "represented", None)  # nothing may be read again
    assert distances.run(asked) == part


def test_the_claim_follows_the_numbers():
    known = distances.MODELS[:3]
    found = [
        {f"{a} to {b}": (0.2 if known.index(a) > known.index(b) else 0.8) + wobble for a in known for b in known}
        for wobble in (-0.01, 0.0, 0.01)
    ]
    assert distances.verdict(found, known)[1].startswith("holds, by the distance from weak to strong less that back:")
