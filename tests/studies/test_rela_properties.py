import math

import numpy as np
import pytest
import torch
from studies.parts import Asked
from studies.rela import properties
from studies.rela.properties import ARMS, RHOS, SIGMAS, Networks, closed_form, judged, table, verdict
from studies.shelf import Shelf

from tests.oracles.rela import one_parameter


def asked(out):
    return Asked(Shelf(out, "rela properties"), out, (), 2, quick=True)


def test_quick_run_goes_on(tmp_path, monkeypatch):
    part = properties.run(asked(tmp_path))
    assert len(part.table) == 2 + len(ARMS)
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")}
    assert len(kept) == 2
    monkeypatch.setattr(properties, "curves", None)  # nothing may be trained again
    assert properties.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("curves/*.json")} == kept


@pytest.mark.parametrize(("sigma", "rho"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("steps", [1, 7, 60])
def test_the_closed_form_is_what_training_does(sigma, rho, steps):
    rate, start, means, runs = 0.2, 1.0, (1.0, 2.0), 20_000
    squares = one_parameter(sigma, rho, means, rate, start, steps, runs, np.random.default_rng(0))
    error = squares.std() / math.sqrt(runs)
    assert abs(squares.mean() - closed_form(sigma, rho, rate, steps, start, means)) < 4 * error


def test_the_closed_form_without_relabelling_is_the_printed_one():
    eta, t, start, (one, two), sigma = 0.05, 40, -4.0, (1.0, 2.0), 0.7
    best = -(one + two) / 2
    left = (1 - eta) ** (2 * t)
    printed = left * (start - best) ** 2 + eta / (2 - eta) * (1 - left) * (sigma**2 + (1 - (two - one) / 2) ** 2)
    assert closed_form(sigma, 0.0, eta, t, start, (one, two)) == pytest.approx(printed, rel=1e-12)


def test_the_networks_step_as_torch_does():
    networks = Networks.drawn(2, np.random.default_rng(0))
    models = []
    for run in range(2):
        model = torch.nn.Sequential(torch.nn.Linear(2, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1), torch.nn.Sigmoid())
        values = [torch.tensor(value[run]) for value in networks.weights]
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), values, strict=True):
                parameter.data = value.reshape(parameter.shape)
        models.append((model, torch.optim.SGD(model.parameters(), lr=properties.RATE, momentum=properties.MOMENTUM)))
    rng = np.random.default_rng(1)
    for _ in range(30):
        x, y = rng.normal(1.5, 1, (2, 2)), rng.random(2)
        networks.step(x, y)
        for run, (model, optimizer) in enumerate(models):
            optimizer.zero_grad()
            (model(torch.from_numpy(x[run])) - y[run]).square().sum().backward()
            optimizer.step()
    points = rng.normal(1.5, 1, (9, 2))
    for run, (model, _) in enumerate(models):
        np.testing.assert_allclose(
            networks.said(points)[run], model(torch.from_numpy(points)).detach()[:, 0], rtol=1e-10
        )


def made_up(sigma_slope, rho_slope):
    """Curves (repeat, mark) whose mean loss moves with the knobs by these slopes."""
    noise = np.random.default_rng(0).normal(0, 0.001, (8, 1))
    slopes = {"sigma": sigma_slope, "rho": rho_slope}
    jitter = np.random.default_rng(1)
    return {
        arm: 0.2 + noise + slopes[arm[0]] * arm[1] + jitter.normal(0, 1e-4, (8, 1)) + np.zeros((1, 3)) for arm in ARMS
    }


def test_the_verdict_follows_the_numbers():
    good = verdict(made_up(0.1, -0.1))
    assert "faster in 5 of 5 pairs" in good[1]
    assert "the claim holds" in good[1]
    assert "faster in 4 of 4 pairs" in good[2]
    assert "mean loss falls by 0.0999 ± 0.0001" in good[1]
    assert "lowest at sigma 0 " in good[3]
    bad = verdict(made_up(-0.1, 0.0))
    assert "faster in 0 of 5 pairs, slower in 5, not decided in 0: the claim does not hold throughout" in bad[1]
    assert "Slower: sigma 0 against sigma 0.1 (-0.01" in bad[1]
    assert "slower in 0" in bad[2]
    assert "is not decided throughout" in bad[2]
    assert judged(made_up(0.1, 0.0), [("sigma", value) for value in SIGMAS], "it is").startswith("Of neighbouring")
    assert "| rho 1 (sigma 1) |" in table(made_up(0.1, 0.1))[-1]
    assert len(table(made_up(0.1, 0.1))) == 2 + len(SIGMAS) + len(RHOS)


def test_where_the_exact_error_is_least_is_found():
    errors = {
        rho: closed_form(1.0, rho, 0.1, 1000, 0.0, (1.0, 2.0)) for rho in (0.0, 0.79, 0.80, 0.81, 0.82, 0.83, 1.0)
    }
    least = min(errors, key=errors.get)
    assert f"In rho it is least at {least:.2f} ({errors[least]:.4f}; " in properties.exact()
    assert "unlike the paper's bound" in properties.exact()


def test_labels_are_pushed_apart():
    assert properties.spaced([0.1, 0.5, 0.1], 0.05) == pytest.approx([0.1, 0.5, 0.15])
