import numpy as np
import pytest
import torch
from studies.lpntk import forgetting
from studies.parts import Asked
from studies.shelf import Shelf


def asked(folder) -> Asked:
    return Asked(Shelf(folder, "lpntk forgetting"), folder, ("mnist",), 1, quick=True)


@pytest.mark.usefixtures("mnist")
def test_a_second_run_reads_the_shelf(tmp_path):
    first = forgetting.run(asked(tmp_path))
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == len(forgetting.CASES)
    assert forgetting.run(asked(tmp_path)) == first
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")} == kept


def test_only_the_batch_just_learned_is_followed(monkeypatch):
    """The same inputs with other labels in turn: what was learned last is right before the step and wrong after it."""
    signs = np.tile(np.repeat([1, -1], 2), 3)
    x = torch.ones(12, 1)
    labels = (signs < 0).astype(np.int64)
    net = torch.nn.Linear(1, 2, bias=False)
    torch.nn.init.zeros_(net.weight)
    monkeypatch.setattr(forgetting, "drawn", lambda *_: (x, labels))
    monkeypatch.setattr(forgetting.wn.models, "build", lambda *_, **__: net)
    found = forgetting.watched(0, "made up", 0, 0.1, 5.0, 2, 6, 0)
    for direction in forgetting.DIRECTIONS:
        # A step from 0 undoes nothing of what it meets, so each batch but the last is right and then forgotten.
        assert found[direction]["looked_at"] == found[direction]["happened"] == 10
    assert found["error"]["hits"] == 10
    assert net.weight.isfinite().all()


def test_the_step_is_plain_sgd():
    net = torch.nn.Linear(3, 4)
    twin = torch.nn.Linear(3, 4)
    twin.load_state_dict(net.state_dict())
    x, y = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), [0, 1, 2, 3, 0]
    forgetting.learn(net, x, y, 0.3)
    step = torch.optim.SGD(twin.parameters(), lr=0.3)
    torch.nn.functional.cross_entropy(twin(x), torch.tensor(y)).backward()
    step.step()
    torch.testing.assert_close(net.weight, twin.weight)
    torch.testing.assert_close(net.bias, twin.bias)


def made_up(f1: float, true: float, events: int = 20) -> dict:
    def one(value: float) -> dict:
        nothing = events == 0
        rest = dict.fromkeys(("precision", "recall", "f1"), None if nothing else value)
        return {"looked_at": 100, "happened": events, "guessing": None if nothing else 0.33, "miss": 0.1, **rest}

    return {"error": one(true), "s_tilde": one(f1)}


@pytest.mark.parametrize(
    ("f1", "said"), [(0.5, "holds"), (0.1, "does not hold"), (0.33, "not decided")], ids=["above", "below", "as guess"]
)
def test_a_claim_that_fails_is_said_to_fail(f1, said):
    runs = [made_up(f1 + e, 0.9 + 2 * e) for e in (-0.01, 0.0, 0.01)]
    line = forgetting.judged(runs)
    assert line.startswith(f"{said} for the label alone")
    assert "holds for the true error" in line
    assert "The true error predicts better" in line
    assert forgetting.rates(runs) == [0.2] * 3
    assert forgetting.judged([made_up(f1, 0.9, events=2)] * 3).startswith(
        "too few are forgotten to judge, 6 example(s)"
    )


def test_nothing_is_claimed_without_events():
    runs = [made_up(0.0, 0.0, events=0)] * 4 + [made_up(1.0, 1.0, events=1)]
    assert "too few are forgotten to judge, 1 example(s) in 1 of 5 seeds" in forgetting.judged(runs)
    rows = forgetting.table({("mnist", forgetting.CASES[0]): runs})
    assert "| 1 of 5 | 1 |" in rows[2]
    assert rows[-1].startswith("| mnist | the paper")


@pytest.mark.parametrize(("miss", "said"), [(0.1, "it holds"), (0.5, "it is rough"), (2.0, "it has broken down")])
def test_what_the_first_order_misses_is_said(miss, said):
    runs = [made_up(0.5, 0.9) for _ in range(3)]
    for run, e in zip(runs, (-0.01, 0.0, 0.01), strict=True):
        run["error"]["miss"] = miss + e
    assert forgetting.verdict({("made up", forgetting.CASES[1]): runs})[1].endswith(f"{said}.")
