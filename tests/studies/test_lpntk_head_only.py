from studies.lpntk import head_only
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def test_quick_run_has_both_kernels_and_goes_on(tmp_path, mnist, monkeypatch):
    asked = Asked(Shelf(tmp_path / "x", "lpntk x"), tmp_path / "x", ("mnist",), 1, quick=True)
    part = head_only.run(asked)
    lines = [line for line in part.table if line.startswith("| mnist")]
    assert len(lines) == 1 + len(head_only.SHARES) * (1 + len(head_only.KINDS))
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    monkeypatch.setattr(wn, "observe", None)
    assert head_only.run(asked) == part


def test_verdicts_follow_the_numbers():
    cells = [
        {"full": 99.0} | {f"{kind} {s:g}": v for kind, v in (("raw", 90.0 + d), ("cosine", 70.0), ("random", 80.0))
                          for s in head_only.SHARES}
        for d in (-0.1, 0.0, 0.1)
    ]  # fmt: skip
    text = "\n".join(head_only.verdict({"blocks": cells}))
    assert "blocks, head only, 1% kept, 3 repeats: +10.00 ± 0.25 ▲ points against random: holds." in text
    assert "blocks, head only, cosine, 5% kept, 3 repeats: -10.00 ± 0.00 ▼" in text
