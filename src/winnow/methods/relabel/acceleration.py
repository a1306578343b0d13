"""`accelerate`: pretrain a backbone, first towards targets and then with a self-supervised method, or either alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...artefacts import Provenance, Source
from ...artefacts.provenance import record
from ...artefacts.targets import Targets
from ...artefacts.training_state import State
from ...core import checks
from ...core.errors import InputError
from ...core.files import fingerprint, plain
from ...core.request import request
from ...core.run import Run
from ...models.identity import describe
from ...sources.openable import Data
from ...training import Feed, Recipe
from ...training.recipe import recipe_of
from .accelerator import Accelerator
from .checkpoints import AtCheckpoint, Kept, finish
from .pretrain_loop import Pretraining
from .self_supervised import METHODS, SelfSupervisedMethod, Shadow, method_of
from .student import student, takes
from .views import Transform, transformed_views

__all__ = ["RECIPE", "Pretrained", "accelerate"]

RECIPE = Recipe(epochs=100, batch=128, optimizer="adamw", lr=1e-3, weight_decay=0.01, schedule="constant")
OWNER = "accelerate"
SMALLEST_CROP = 4  # pixels per side
LOOKED_AT = 8  # images whose views identify a transform

Backbone = str | nn.Module | Callable[[], nn.Module]


@dataclass(frozen=True, eq=False, repr=False)
class Pretrained:
    """A pretrained backbone and how it was trained.

    Parameters
    ----------
    backbone
        The network, in eval mode; it gives (n, features).
    features
        The number of features it gives.
    steps
        Steps taken in both stages.
    switched_at
        The number of steps in stage 1, or None if it never ended or never took place. Without a method: the step at
        which it would have ended.
    losses
        The loss of each step; the two stages have different losses.
    seconds
        Seconds per stage, without checkpoints and saving.
    provenance
        Where it came from.
    start
        For stage 1 without a method: the state at the switch, for `start` of `accelerate`.
    """

    backbone: nn.Module
    features: int
    steps: int
    switched_at: int | None
    losses: NDArray[np.float64]
    seconds: Mapping[str, float]
    provenance: Provenance = field(default_factory=dict)
    start: State | None = None

    def __repr__(self) -> str:
        return f"Pretrained({self.features} features, {self.steps} steps, {sum(self.seconds.values()):.1f} s)"


def accelerate(
    method: str | None,
    source: Data,
    targets: Targets | None = None,
    recipe: Recipe | None = None,
    *,
    backbone: Backbone = "convnet",
    steps: int | None = None,
    switch: str | int | None = "adaptive",
    views: int = 2,
    train_head: bool = True,
    local_views: int | None = None,
    transform: Transform | None = None,
    seed: int = 0,
    checkpoints: Iterable[int] = (),
    at_checkpoint: AtCheckpoint | None = None,
    start: Pretrained | State | None = None,
    out: Run | str | Path | None = None,
    device: str = "auto",
    **opening: Any,
) -> Pretrained:
    """Pretrain a backbone without labels, first towards stored targets, then by a self-supervised method.

    Batches and views depend only on seed and step, and the initial weights only on the seed, so that runs with the same
    seed are paired. Each step computes one loss. Only whole batches are used; the rest of an epoch is dropped.

    Parameters
    ----------
    method
        `barlow_twins`, `byol`, `dino`, `moco`, `simclr`, `simsiam`, `swav` or `vicreg`; None trains stage 1 to the end.
    source
        Images, a Source or anything that `wn.open` takes; labels are not used.
    targets
        From `relabel.targets`, matched by id; None for the method alone.
    recipe
        How to train; by default AdamW at .001 with weight decay .01, batch 128, a constant rate, for 100 epochs.
    backbone
        A named network, of which the features before the head are used; or a module, or a function that makes one, that
        gives one row of features per image. It starts from new weights.
    steps
        Steps of both stages together; if not given, those of the recipe's epochs.
    switch
        `adaptive` for Algorithm 1 scaled to the planned steps, a number of steps, or None to stay in stage 1.
    views
        Weak views per step of stage 1.
    train_head
        Whether the map from features to targets is learned.
    local_views
        Number of small crops in addition to the two views of DINO and SwAV, at half the side if the backbone accepts
        that; if not given, the method's own number.
    transform
        Views for the method instead of winnow's: a function of one PIL image, such as a transform of lightly. It
        returns tensors of shape (channels, height, width) between 0 and 1 (`normalize=None` in lightly); winnow scales
        them.
    seed
        Seed of weights, batches and views.
    checkpoints
        Step numbers after which to call `at_checkpoint`.
    at_checkpoint
        Called with the number of steps and a copy of the backbone in eval mode.
    start
        The result of stage 1 without a method, with the same seed and settings: continue from its switch. The result is
        that of the whole run; checkpoints before the switch belong to that stage 1 and are not called again.
    out
        Run directory; a killed run resumes from its last saved state and ends with the same weights. Checkpoints that
        were already passed are given to `at_checkpoint` again.
    device
        `auto` follows the recipe.
    **opening
        Keywords of `wn.open`, such as `limit=`.

    Returns
    -------
    Pretrained
        The backbone, its losses and times.

    Raises
    ------
    InputError
        If an argument is out of range, or neither a method nor targets are given.
    UnknownNameError
        If there is no method or network of that name.
    MissingDependencyError
        If a method is given and lightly is not installed.
    DivergedError
        If the loss stops being finite.

    Examples
    --------
    >>> import numpy as np, winnow as wn
    >>> rng = np.random.default_rng(0)
    >>> src = wn.open(rng.integers(0, 256, (64, 3, 8, 8), dtype=np.uint8))
    >>> tgt = wn.relabel.targets(src, rng.standard_normal((64, 6)), dim=4)
    >>> out = wn.relabel.accelerate(None, src, tgt, wn.Recipe(batch=32), steps=3)
    >>> out.steps, out.features
    (3, 64)
    """
    source = request(accelerate, locals()).source
    plan = _recipe(source, recipe, device)
    total = _steps(method, source, targets, plan, steps)
    stops = _stops(checkpoints, at_checkpoint, total)
    checks.integer("views", OWNER, views, low=1)
    _check_kinds(backbone, train_head, local_views, transform, out)
    feed = Feed(source)
    rows = None if targets is None else targets.at(feed.ids)
    network, features = student(backbone, source.shape, seed)
    settings = {
        "source": source.with_labels(None, "unlabelled").fingerprint,
        "targets": None if rows is None else fingerprint(rows.tobytes()),
        "recipe": plan.settings(),
        "backbone": describe(backbone),
        "steps": total,
        "switch": None if targets is None else switch,
        "views": views,
        "train_head": train_head,
        "seed": seed,
    }
    begun = _start(start, method, settings)
    accelerator = shadow = stage_2 = None
    if targets is not None:
        accelerator = Accelerator(features, targets.dim, total, switch=switch, train_head=train_head, seed=seed)
    if method is not None:
        stage_2 = _method(method, network, features, seed, total, source, plan, local_views)
    elif switch is not None:
        shadow = Shadow(network, total)
    training = Pretraining(
        feed, plan, total, seed, network, accelerator, rows, stage_2, shadow, views=views, transform=transform
    )
    settings |= {"method": method, "local_views": local_views, "transform": _known(transform, method, feed, seed)}
    with Run.opened(out, {"command": "accelerate"}) as run:
        kept = Kept(run, settings, stops)
        finish(training, kept, begun, at_checkpoint)
    inputs = {"source": source.provenance, **({} if targets is None else {"targets": targets.provenance})}
    return Pretrained(
        backbone=network.eval(),
        features=features,
        steps=training.done,
        switched_at=None if accelerator is None else accelerator.switched_at,
        losses=checks.frozen(np.array(training.losses)),
        seconds=dict(training.seconds),
        provenance=record("accelerate", settings, inputs),
        start=kept.start,
    )


def _recipe(source: Source, recipe: object, device: object) -> Recipe:
    if source.kind != "image" or len(source) < 2:
        raise InputError(f"source of {OWNER} must hold at least 2 images; {source.name!r} is {source!r}.")
    plan = RECIPE if recipe is None else recipe_of(OWNER, recipe)
    if plan.augment:
        raise InputError(
            f"augment of recipe of {OWNER} must be empty, because each stage makes its own views; got {plan.augment}."
        )
    if plan.batch < 2:
        raise InputError(f"batch of recipe of {OWNER} must be at least 2; got {plan.batch}.")
    if not isinstance(device, str):
        raise InputError(f"device of {OWNER} must be 'auto' or the name of a torch device; got {device!r}.")
    return plan if device == "auto" else replace(plan, device=device)


def _check_kinds(backbone: object, train_head: object, local_views: object, transform: object, out: object) -> None:
    if not isinstance(backbone, str) and not callable(backbone):
        raise InputError(
            f"backbone of {OWNER} must be a name, a torch module or a function that makes one; got "
            f"{type(backbone).__name__}."
        )
    if not isinstance(train_head, bool):
        raise InputError(f"train_head of {OWNER} must be True or False; got {train_head!r}.")
    if local_views is not None:
        checks.integer("local_views", OWNER, local_views, low=0)
    if transform is not None and not callable(transform):
        raise InputError(f"transform of {OWNER} must be a function of an image; got {type(transform).__name__}.")
    if out is not None and not isinstance(out, Run | str | Path):
        raise InputError(f"out of {OWNER} must be a run directory; got {type(out).__name__}.")


def _steps(method: object, source: Source, targets: object, recipe: Recipe, steps: object) -> int:
    if method is not None:
        checks.choice("method", OWNER, method, METHODS)
    if targets is None and method is None:
        raise InputError(f"method or targets of {OWNER} must be given; got neither.")
    if targets is not None and not isinstance(targets, Targets):
        raise InputError(f"targets of {OWNER} must come from relabel.targets; got {type(targets).__name__}.")
    if steps is None:
        return recipe.epochs * max(1, len(source) // recipe.batch)
    return checks.integer("steps", OWNER, steps, low=1)


def _stops(checkpoints: object, at_checkpoint: object, steps: int) -> list[int]:
    if not isinstance(checkpoints, Iterable) or isinstance(checkpoints, str | bytes):
        raise InputError(f"checkpoints of {OWNER} must be numbers of steps; got {checkpoints!r}.")
    if at_checkpoint is not None and not callable(at_checkpoint):
        raise InputError(f"at_checkpoint of {OWNER} must be a function; got {type(at_checkpoint).__name__}.")
    return sorted({checks.integer("checkpoints", OWNER, stop, low=1, high=steps) for stop in checkpoints})


def _start(start: object, method: object, settings: dict[str, Any]) -> State | None:
    """Return the state of stage 1 to continue from, after checking that it belongs to this training."""
    state = start.start if isinstance(start, Pretrained) else start
    if start is None:
        return None
    if method is None:
        raise InputError(f"start of {OWNER} must be used with a method; got method=None.")
    if not isinstance(state, State):
        raise InputError(
            f"start of {OWNER} must be a stage 1 (method=None) that reached its switch; got {type(start).__name__}"
            f"{' without one' if isinstance(start, Pretrained) else ''}."
        )
    before = plain(state.about.get("settings", {}))
    for name, value in plain(settings).items():
        if before.get(name) != value:
            raise InputError(f"start of {OWNER} must come from a stage 1 with the same {name}; this one differs.")
    return state


def _method(
    name: str,
    network: nn.Module,
    features: int,
    seed: int,
    steps: int,
    source: Source,
    recipe: Recipe,
    local_views: int | None,
) -> SelfSupervisedMethod:
    made = method_of(
        name, network, features, seed, steps, examples=len(source), batch=recipe.batch, local_views=local_views
    )
    made.local_size = _half(network, source.shape) if made.local_views else None
    return made


def _half(network: nn.Module, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Size of small crops: half the side if the network accepts it, otherwise the size of the images."""
    size = (shape[1] // 2, shape[2] // 2)
    return size if min(size) >= SMALLEST_CROP and takes(network, (shape[0], *size)) else None


def _known(transform: Transform | None, method: str | None, feed: Feed, seed: int) -> dict[str, str] | None:
    """Identify a transform by its name and its output on a few images: the name alone does not show its settings."""
    if transform is None or method is None:
        return None
    views = transformed_views(feed.unscaled(np.arange(min(LOOKED_AT, len(feed)))), transform, seed, 0)
    name = str(getattr(transform, "__qualname__", type(transform).__qualname__))
    return {"name": name, "views": fingerprint(*(view.cpu().numpy().tobytes() for view in views))}
