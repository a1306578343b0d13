"""`accelerate`: paired, resumable, the same from a shared stage 1, indifferent to order and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.core.errors import DivergedError, InputError, UnknownNameError
from winnow.methods.relabel import Pretrained, Targets, accelerate
from winnow.methods.relabel import checkpoints as resuming
from winnow.methods.relabel.accelerator import Accelerator
from winnow.methods.relabel.pretrain_loop import Pretraining

STEPS, SWITCH = 6, 3
RECIPE = wn.Recipe(batch=16, optimizer="adamw", lr=1e-3, weight_decay=0.01, schedule="constant")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (40, 3, 8, 8), dtype=np.uint8)


def source(order: Any = None, labels: bool = False) -> wn.Source:
    where = np.arange(len(IMAGES)) if order is None else order
    names = np.array([f"image {i:02d}" for i in where])
    opened = wn.open((IMAGES[where], where % 3) if labels else IMAGES[where])
    return wn.Source(
        "images", opened.read, len(where), opened.shape, "image", opened.task, opened.labels, opened.classes, names
    )


SOURCE = source()
TARGETS = Targets(SOURCE.ids, RNG.standard_normal((40, 5)).astype(np.float32))


def run(method: str | None, targets: Targets | None = TARGETS, **options: Any) -> Pretrained:
    settings = {"recipe": RECIPE, "steps": STEPS, "switch": SWITCH, **options}
    return accelerate(method, settings.pop("source", SOURCE), targets, **settings)


def weights(made: Pretrained | torch.nn.Module) -> dict[str, torch.Tensor]:
    network = made.backbone if isinstance(made, Pretrained) else made
    return dict(network.state_dict())


def same(a: Pretrained | torch.nn.Module, b: Pretrained | torch.nn.Module) -> bool:
    first, second = weights(a), weights(b)
    return all(torch.equal(first[name], second[name]) for name in first)


def test_two_stages_of_one_loss_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    first, second = Pretraining._first_loss, Pretraining._method_loss
    monkeypatch.setattr(Pretraining, "_first_loss", lambda self, *a: (calls.append("first"), first(self, *a))[1])
    monkeypatch.setattr(Pretraining, "_method_loss", lambda self, *a: (calls.append("second"), second(self, *a))[1])
    made = run("simsiam")
    assert calls == ["first"] * SWITCH + ["second"] * (STEPS - SWITCH)
    assert (made.steps, made.switched_at, made.features) == (STEPS, SWITCH, 64)
    assert made.losses.shape == (STEPS,)
    assert (made.losses[:SWITCH] > 0).all()  # 1 - cosine
    assert (made.losses[SWITCH:] < 0.5).all()  # minus a cosine
    assert min(made.seconds.values()) > 0
    assert not made.backbone.training
    assert made.backbone(torch.zeros(3, 3, 8, 8)).shape == (3, 64)
    assert made.provenance["parameters"]["method"] == "simsiam"


def test_the_first_loss_is_the_mean_over_weak_views_of_one_minus_the_cosine() -> None:
    """The first step by hand, from the public pieces."""
    from winnow.core.seeds import stream
    from winnow.methods.relabel.views import weak_views
    from winnow.training import Feed

    feed = Feed(SOURCE)
    where = stream(0, "batches", 0).permutation(40)[:16]
    net = wn.models.build("convnet", classes=2, shape=(3, 8, 8), seed=0)
    head = Accelerator(64, 5, STEPS, seed=0).head
    views = weak_views(feed.unscaled(where), 2, stream(0, "weak views", 0))
    apart = []
    for view in views:
        given = head(wn.models.features_of(net, (view - feed.scaling.mean) / feed.scaling.std))
        apart.append(1 - torch.cosine_similarity(given, torch.from_numpy(TARGETS.at(feed.ids[where])), dim=1).mean())
    assert run(None, switch=None).losses[0] == pytest.approx((sum(apart) / 2).item(), abs=1e-6)


def test_stage_1_learns_targets_that_can_be_learned() -> None:
    bright = IMAGES.mean((2, 3)).astype(np.float32) / 20
    made = run(None, Targets(SOURCE.ids, bright - bright.mean(0)), switch=None, steps=40)
    assert made.switched_at is None
    assert made.losses[-10:].mean() < 0.6 * made.losses[:5].mean()


def test_arms_of_a_seed_are_paired() -> None:
    seen: dict[str, list[np.ndarray]] = {}
    look = Pretraining._positions

    def positions(self: Pretraining) -> np.ndarray:
        found = look(self)
        seen.setdefault(str(len(seen) if self.done == 0 else len(seen) - 1), []).append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pretraining, "_positions", positions)
        plain, other, pulled = run("simsiam", None), run("byol", None), run("simsiam")
        run("simsiam", None, seed=1)
    arms = [np.concatenate(value) for value in seen.values()]
    assert np.array_equal(arms[0], arms[1])
    assert np.array_equal(arms[0], arms[2])
    assert not np.array_equal(arms[0], arms[3])
    assert len(set(arms[0][:32].tolist())) == 32  # an epoch of whole batches, no example twice
    assert plain.seconds["stage 1"] == 0
    assert pulled.losses[0] != plain.losses[0]
    assert other.losses[0] != plain.losses[0]


def test_switching_at_once_is_the_method_alone() -> None:
    assert same(run("simsiam", switch=0), run("simsiam", None))


def test_order_and_labels_of_the_source_change_nothing() -> None:
    order = np.random.default_rng(1).permutation(40)
    plain = run("byol")
    assert same(plain, run("byol", source=source(order)))
    assert same(plain, run("byol", source=source(order, labels=True)))
    assert not same(plain, run("byol", seed=1))


@pytest.mark.parametrize("method", ["byol", "simsiam", "moco"])
def test_a_shared_stage_1_is_the_run_itself(method: str) -> None:
    shared = run(None)
    assert shared.start is not None
    assert shared.switched_at == SWITCH
    assert shared.steps == STEPS
    whole, continued = run(method), run(method, start=shared)
    assert same(whole, continued)
    assert np.array_equal(whole.losses, continued.losses)
    assert continued.seconds["stage 1"] == shared.start.seconds["stage 1"]
    assert not same(shared, continued)


def test_a_shared_stage_1_outlives_the_process(tmp_path: Path) -> None:
    run(None, out=tmp_path / "stage-1")
    again = run(None, out=tmp_path / "stage-1")
    assert same(run("byol"), run("byol", start=again))


class Killed(RuntimeError):
    pass


@pytest.mark.parametrize(("method", "at"), [(None, 5), ("byol", 2), ("byol", 5), ("moco", 5), ("dino", 5)])
def test_a_killed_run_goes_on_and_ends_the_same(method: str | None, at: int, tmp_path: Path) -> None:
    def die(step: int, backbone: torch.nn.Module) -> None:
        if step == at:
            raise Killed

    seen: dict[int, torch.nn.Module] = {}
    whole = run(method, checkpoints=(1, at), at_checkpoint=seen.__setitem__)
    with pytest.raises(Killed):
        run(method, out=tmp_path / "run", checkpoints=(1, at), at_checkpoint=die)
    again: dict[int, torch.nn.Module] = {}
    resumed = run(method, out=tmp_path / "run", checkpoints=(1, at), at_checkpoint=again.__setitem__)
    assert same(whole, resumed)
    assert np.array_equal(whole.losses, resumed.losses)
    assert resumed.switched_at == SWITCH
    assert sorted(again) == sorted(seen) == [1, at]
    assert all(same(seen[step], again[step]) for step in seen)
    if method is None:
        assert resumed.start is not None
        assert same(run("byol", start=resumed), run("byol", start=whole))


def test_a_finished_run_is_read_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("byol", out=tmp_path / "run", checkpoints=(3,))
    # of torch, because winnow's own code is part of the key
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_, **__: pytest.fail("a finished run was trained again"))
    seen: dict[int, torch.nn.Module] = {}
    second = run("byol", out=tmp_path / "run", checkpoints=(3,), at_checkpoint=seen.__setitem__)
    assert same(first, second)
    assert second.seconds == first.seconds
    assert list(seen) == [3]
    assert not list((tmp_path / "run").rglob("so-far*"))


def test_a_checkpoint_asked_for_later_is_made(tmp_path: Path) -> None:
    run("byol", out=tmp_path / "run")
    seen: dict[int, torch.nn.Module] = {}
    wanted: dict[int, torch.nn.Module] = {}
    second = run("byol", out=tmp_path / "run", checkpoints=(4,), at_checkpoint=seen.__setitem__)
    assert same(second, run("byol", checkpoints=(4,), at_checkpoint=wanted.__setitem__))
    assert same(seen[4], wanted[4])
    assert not list((tmp_path / "run").rglob("so-far*"))


def test_states_are_saved_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "SAVE_EVERY", 3)
    step = Pretraining.step

    def dying(self: Pretraining) -> None:
        if self.done == 4:
            raise Killed
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Pretraining, "step", dying)
        with pytest.raises(Killed):
            run("byol", out=tmp_path / "run")
    begun = []
    monkeypatch.setattr(Pretraining, "step", lambda self: (begun.append(self.done), step(self))[1])
    assert same(run("byol", out=tmp_path / "run"), run("byol"))
    assert begun[0] == 3


def test_a_damaged_state_heals(tmp_path: Path) -> None:
    whole = run("byol", out=tmp_path / "run")
    file = next((tmp_path / "run").rglob("end.safetensors"))
    file.write_bytes(b"nothing of the kind")
    with pytest.warns(UserWarning, match=r"end\.safetensors has changed since it was written; the step .* is made"):
        assert same(run("byol", out=tmp_path / "run"), whole)


def test_a_checkpoint_may_do_what_it_likes_with_the_backbone() -> None:
    def spoil(step: int, backbone: torch.nn.Module) -> None:
        assert not backbone.training
        torch.manual_seed(step)
        for value in backbone.parameters():
            value.requires_grad_(False).zero_()

    assert same(run("byol"), run("byol", checkpoints=(2, 4), at_checkpoint=spoil))


def test_the_map_to_the_targets_is_learned_unless_told_otherwise() -> None:
    assert not same(run(None, switch=None), run(None, switch=None, train_head=False))


def test_one_view_is_another_training_than_two() -> None:
    assert not same(run(None, switch=None, views=1), run(None, switch=None, views=2))


def test_torch_is_left_as_it_was_found() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    run("byol", steps=2)
    assert torch.equal(torch.rand(3), wanted)


def test_a_transform_of_ones_own_makes_the_views() -> None:
    seen = []

    def halves(image: Any) -> list[torch.Tensor]:
        seen.append(image.size)
        tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255
        return [tensor + 0.01 * torch.rand(3, 8, 8), tensor.flip(2)]

    first, second = (run("simsiam", None, steps=2, transform=halves) for _ in range(2))
    assert same(first, second)
    assert seen[0] == (8, 8)
    assert not same(first, run("simsiam", None, steps=2))


def test_another_transform_of_the_same_name_is_another_run(tmp_path: Path) -> None:
    def views(strength: float) -> Any:
        return lambda image: strength * torch.rand(3, 8, 8)

    first = run("simsiam", None, steps=2, transform=views(1.0), out=tmp_path / "run")
    assert not same(first, run("simsiam", None, steps=2, transform=views(0.5), out=tmp_path / "run"))
    assert same(first, run("simsiam", None, steps=2, transform=views(1.0), out=tmp_path / "run"))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_heads_may_join_an_sgd_under_way(momentum: float, tmp_path: Path) -> None:
    recipe = wn.Recipe(batch=16, optimizer="sgd", momentum=momentum, schedule="onecycle")

    def die(step: int, backbone: torch.nn.Module) -> None:
        raise Killed

    whole = run("byol", recipe=recipe)
    assert same(whole, run("byol", recipe=recipe, start=run(None, recipe=recipe)))
    with pytest.raises(Killed):
        run("byol", recipe=recipe, out=tmp_path / "run", checkpoints=(4,), at_checkpoint=die)
    assert same(whole, run("byol", recipe=recipe, out=tmp_path / "run", checkpoints=(4,)))


def test_bfloat16_and_other_backbones() -> None:
    def tiny() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

    half = wn.Recipe(batch=16, precision="bfloat16", schedule="cosine")
    assert run("byol", recipe=half, backbone=tiny).features == 4
    assert run("dino", steps=2, switch=1, backbone="mlp").features == 128  # takes no other size: crops stay large


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "bjol"}, UnknownNameError, "method of accelerate 'bjol' (nearest: 'byol')"),
        ({"method": None, "targets": None}, InputError, "method or targets of accelerate must be given"),
        ({"targets": np.ones((40, 5))}, InputError, "targets of accelerate must come from relabel.targets"),
        ({"targets": Targets(SOURCE.ids[1:], TARGETS.values[1:])}, InputError, "image 00"),
        ({"source": 3}, InputError, "source of accelerate must be"),
        ({"source": wn.open(np.ones((30, 4)))}, InputError, "must hold at least 2 images"),
        ({"recipe": wn.Recipe(augment=("flip",))}, InputError, "augment of recipe of accelerate must be empty"),
        ({"recipe": wn.Recipe(batch=1)}, InputError, "batch of recipe of accelerate must be at least 2"),
        ({"steps": 0}, InputError, "steps of accelerate"),
        ({"views": 0}, InputError, "views of accelerate"),
        ({"checkpoints": (STEPS + 1,)}, InputError, "checkpoints of accelerate must be a whole number from 1 to 6"),
        ({"checkpoints": 3}, InputError, "checkpoints of accelerate must be numbers of steps"),
        ({"at_checkpoint": 3}, InputError, "at_checkpoint of accelerate must be a function"),
        ({"backbone": torch.nn.Conv2d(3, 4, 3)}, InputError, "must give one row of features per image"),
        ({"backbone": torch.nn.Linear(7, 4)}, InputError, "cannot take images of shape (3, 8, 8)"),
        ({"start": 3}, InputError, "start of accelerate must be a stage 1"),
        ({"method": None, "start": 3}, InputError, "start of accelerate must be used with a method"),
        ({"device": 3}, InputError, "device of accelerate"),
        ({"transform": lambda image: [1, 2]}, InputError, "transform of accelerate must turn an image"),
        ({"transform": 3}, InputError, "transform of accelerate must be a function of an image; got int"),
        ({"local_views": -1}, InputError, "local_views of accelerate"),
        ({"method": None, "local_views": -1}, InputError, "local_views of accelerate"),
        ({"train_head": "no"}, InputError, "train_head of accelerate must be True or False; got 'no'"),
        ({"backbone": 3}, InputError, "backbone of accelerate must be a name, a torch module or a function"),
        ({"backbone": lambda: 3}, InputError, "must return a torch module"),
        ({"out": 3}, InputError, "out of accelerate must be a run directory; got int"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], words: str) -> None:
    given = {"method": "byol", **options}
    with pytest.raises(error) as caught:
        run(given.pop("method"), given.pop("targets", TARGETS), **given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_start_of_another_training_is_refused() -> None:
    shared = run(None)
    with pytest.raises(InputError, match="with the same seed"):
        run("byol", start=shared, seed=1)
    with pytest.raises(InputError, match="with the same targets"):
        run("byol", TARGETS.shuffled(0), start=shared)
    for never in (None, 0):
        with pytest.raises(InputError, match="that reached its switch"):
            run("byol", start=run(None, switch=never, steps=2))


def test_divergence_is_said() -> None:
    with pytest.raises(DivergedError, match="pretraining diverged at step"):
        run("vicreg", None, recipe=wn.Recipe(batch=16, optimizer="sgd", lr=1e30, schedule="constant"), steps=20)
