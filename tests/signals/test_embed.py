from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import winnow as wn
from tests.signals.small import by_id, digits, rows, shuffled
from winnow.core.errors import InputError
from winnow.models import build


def unit(source: wn.Source) -> np.ndarray:
    """Images as numbers from 0 to 1, in the order of the source."""
    return source.fetch(source.ids).astype(np.float64) / 255


def test_raw_is_the_scaled_input_row_by_row() -> None:
    source = rows(task="unlabelled")
    values = source.fetch(source.ids).astype(np.float64)
    found = wn.embed(source)
    assert found.task == "unlabelled"
    assert found.labels is None
    np.testing.assert_allclose(found.embeddings, (values - values.mean(0)) / values.std(0), rtol=1e-4, atol=1e-5)


def test_raw_images_are_scaled_channel_by_channel() -> None:
    source = digits(30)
    values = unit(source)
    wanted = ((values - values.mean()) / values.std()).reshape(30, 64)
    np.testing.assert_allclose(wn.embed(source).embeddings, wanted, rtol=1e-4, atol=1e-5)


def test_a_module_keeps_its_weights_and_its_mode() -> None:
    source = digits(30)
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 12), torch.nn.Dropout(0.5), torch.nn.Linear(12, 3)
    )
    before = [p.detach().clone() for p in module.parameters()]
    found = wn.embed(source, module, mean=[0.0], std=[1.0])
    assert module.training
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
    with torch.no_grad():  # dropout is off, so the input of the last layer is the output of the first
        wanted = module[1](torch.from_numpy(unit(source).reshape(30, 64)).float()).numpy()
    np.testing.assert_allclose(found.embeddings, wanted, rtol=1e-5, atol=1e-6)
    named = wn.embed(source, module, "3", mean=[0.0], std=[1.0])
    assert named.embeddings.shape == (30, 3)


def test_mean_and_std_scale_the_inputs() -> None:
    source = digits(30)
    found = wn.embed(source, mean=[0.25], std=[0.5]).embeddings
    np.testing.assert_allclose(found, ((unit(source) - 0.25) / 0.5).reshape(30, 64), rtol=1e-5, atol=1e-6)


def test_a_named_network_with_weights_is_that_network(tmp_path: Path) -> None:
    source = digits(30)
    trained = build("mlp", classes=10, shape=source.shape, seed=9)
    save_file(trained.state_dict(), tmp_path / "weights.safetensors")
    by_file = wn.embed(source, "mlp", weights=str(tmp_path / "weights.safetensors"))
    by_module = wn.embed(source, trained)
    np.testing.assert_array_equal(by_file.embeddings, by_module.embeddings)
    without = wn.embed(source, "mlp")
    assert without.embeddings.shape == by_file.embeddings.shape
    assert np.abs(without.embeddings - by_file.embeddings).max() > 0.01


def test_a_random_network_follows_its_seed() -> None:
    source = digits(30)
    first, again, other = (wn.embed(source, "mlp", seed=seed).embeddings for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_order_of_the_source_changes_no_bit() -> None:
    source = digits()
    for model in ("raw", "mlp"):
        assert by_id(wn.embed(source, model), "embeddings") == by_id(wn.embed(shuffled(source), model), "embeddings")


def test_provenance_tells_weights_apart() -> None:
    source = rows(task="unlabelled")
    one, two = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    first, second = (wn.embed(source, model).provenance["parameters"]["weights"] for model in (one, two))
    assert first != second
    assert wn.embed(source, one).provenance["parameters"]["weights"] == first


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mean": [0.5]}, "mean and std together"),
        ({"mean": [0.5, 0.5], "std": [1.0, 1.0]}, "mean of embed"),
        ({"mean": [0.5], "std": [0.0]}, "std of embed must be positive"),
        ({"model": "mpl"}, "unknown network 'mpl'"),
        ({"model": "mlp", "layer": "hed"}, "hed"),
    ],
)
def test_bad_requests_are_refused(options: dict, words: str) -> None:
    with pytest.raises(wn.errors.WinnowError, match=words):
        wn.embed(digits(30), **options)


def test_what_cannot_be_opened_is_refused() -> None:
    with pytest.raises(InputError, match="source of embed"):
        wn.embed({1, 2})
