"""`probe`: how well a linear model does on frozen representations, one backbone against another, seed by seed.

Features of the training and test data are computed once per backbone, in eval mode and without augmentation. They are
standardised, column by column, by the training data. Without that, a backbone with small features would look worse
only for its scale, because Adam moves each weight by about its learning rate per step whatever the scale. A linear head
(softmax for classes, least squares for a regression) is then trained on them by the common loop, with Adam at a
constant rate for a fixed number of epochs. The labels of a test set are used only to measure, never to choose: neither
the epoch nor the rate.

For each seed all arms have the same initial weights (if they have the same number of features) and the same batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import torch

from ..artefacts import Source, Study, Subset, record
from ..artefacts.quotas import class_balance
from ..artefacts.study import Arm
from ..artefacts.training_result import Result
from ..core.errors import InputError
from ..core.files import file_name
from ..core.request import Retrainings, RunDirectory, Seed, request, whole
from ..core.request import number as bounded
from ..core.run import Run
from ..core.seeds import several as seeds_from
from ..engines.named import Where
from ..models.frozen import Frozen
from ..signals.frozen_features import featured
from ..sources.openable import Data, TestData, test_sets
from ..training import Recipe
from .arms import cost_of
from .evaluate import study_of
from .retrain import Protocol, Training, retrain_all
from .test_sets import exams, trainable, with_overlap

__all__ = ["probe"]


def probe(
    source: Data,
    backbones: Mapping[str, Any],
    *,
    test: TestData = None,
    seeds: Retrainings = 5,
    epochs: Annotated[int, whole("Passes over the features.", low=1)] = 100,
    lr: Annotated[float, bounded("Learning rate of the head.", low=0, open_low=True)] = 3e-4,
    batch: Annotated[int, whole("Examples per step.", low=1)] = 128,
    costs: Mapping[str, Mapping[str, float]] | None = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> Study:
    """Train a linear head on the frozen features of each backbone and compare.

    Parameters
    ----------
    source
        The labelled data that heads are trained on: a Source, or anything that `wn.open` takes.
    backbones
        By name: a torch module that gives one row of features per example; `wn.models.Frozen`, which can set the layer
        and the scaling of inputs; or a result of `wn.relabel.accelerate`. One for all seeds, or one per seed in a
        sequence or keyed by seed. With one for all, seeds vary only the head, and intervals do not include the
        variation from the backbone's own training.
    test
        The test set, or several by name, of which the first is the one that conclusions are based on. If not given, the
        test split of data that have one and are named rather than opened.
    seeds
        The number of heads per backbone, or their seeds.
    epochs, lr, batch
        For the training of the head. Adam moves a weight by at most about `lr` per step, so few examples need many
        epochs.
    costs
        The cost of each backbone: seconds by stage (`targets`, `pretrain`), for the cost table.
    seed
        Seed of everything random, together with `seeds`.
    out
        A run directory. Finished heads are stored in it one by one; the study is in `out`/study.
    engine
        Where heads are trained. Features are computed in this process.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Study
        One arm per backbone. Seconds are those of the head, without the features. `study.versus(a, b)` is the
        difference of two backbones, paired by seed.

    Raises
    ------
    InputError
        If an argument is out of range, or a backbone or test set does not fit the source.
    NotDefinedError
        If the source has no labels and no regression target.

    Examples
    --------
    >>> import torch, winnow as wn
    >>> source, test = wn.open("digits", limit=100), wn.open("digits", split="test", limit=100)
    >>> one = wn.Local(workers=1)
    >>> study = wn.probe(source, {"pixels": torch.nn.Flatten()}, test=test, epochs=5, seeds=2, engine=one)
    >>> [row["arm"] for row in study.table()]
    ['pixels']
    """
    asked = request(probe, locals())
    source = trainable("probe", asked.source)
    tests = exams("probe", source, test_sets(asked))
    numbers = seeds_from("probe", seeds)
    recipe = Recipe(epochs=epochs, batch=batch, optimizer="adam", lr=lr, weight_decay=0.0, schedule="constant")
    arms = _arms(backbones, numbers)
    paid = _costs(costs, arms)
    settings = {**asked.settings(), "recipe": recipe.settings(), "seeds": numbers}
    prints = {name: found.fingerprint for name, found in tests.items()}
    with Run.opened(out, {"command": "probe", **settings, "tests": prints, "arms": list(arms)}) as run:
        done: dict[tuple[str, int], Result] = {}
        for name, by_seed in arms.items():
            for network, group in _groups(by_seed):
                owner = f"probe ({name!r})"
                learned, measured = featured(owner, source, tests, network)
                head = torch.nn.Linear(learned.shape[0], source.outputs)
                protocol = Protocol(learned, tuple(measured.values()), head, recipe, seed=seed, purpose="probe")
                folder = f"study/trainings/{file_name(name)}"
                trainings = [Training(name, Subset(source.ids), number, folder) for number in group]
                results = retrain_all(run, asked.engine, protocol, trainings, f"probing {name}")
                done |= {(name, t.seed): result for t, result in zip(trainings, results, strict=True)}
        provenance = _provenance(source, tests, arms, settings)
        made_from = with_overlap(run, provenance, source, tests)
        balance = None
        if source.task == "classification" and source.labels is not None:
            balance = class_balance(source.labels, len(source.classes))
        made = [Arm(name, "subset", len(source), 1.0, None, balance, paid[name]) for name in arms]
        study = study_of(source, tests, made, numbers, done, 0.0, made_from)
        return run.put("study", study, 0.0, key=provenance)


def _arms(backbones: object, seeds: Sequence[int]) -> dict[str, dict[int, Frozen]]:
    """Check the backbones; return those of each arm by seed."""
    if not isinstance(backbones, Mapping) or not backbones:
        got = "an empty mapping" if isinstance(backbones, Mapping) else type(backbones).__name__
        raise InputError(
            "backbones of probe must be a mapping from names to torch modules, at least one, such as "
            f"{{'mine': module}}; got {got}."
        )
    arms: dict[str, dict[int, Frozen]] = {}
    for name, value in backbones.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"names in backbones of probe must be words; got {name!r}.")
        arms[name] = _by_seed(f"backbones of probe: {name!r}", value, seeds)
    return arms


def _by_seed(owner: str, value: object, seeds: Sequence[int]) -> dict[int, Frozen]:
    one = _frozen(value)
    if one is not None:
        return dict.fromkeys(seeds, one)
    if isinstance(value, Mapping):
        missing = [number for number in seeds if number not in value]
        if missing:
            raise InputError(f"{owner} must have a module for each seed; seed {missing[0]} has none.")
        given: dict[int, Any] = {number: value[number] for number in seeds}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(seeds):
            raise InputError(f"{owner} must have one module a seed, {len(seeds)} in all; got {len(value)}.")
        given = dict(zip(seeds, value, strict=True))
    else:
        raise InputError(f"{owner} must be a torch module, or one a seed; got {type(value).__name__}.")
    found = {}
    for number, item in given.items():
        network = _frozen(item)
        if network is None:
            raise InputError(f"{owner} must hold torch modules; got {type(item).__name__}.")
        found[number] = network
    return found


def _frozen(value: object) -> Frozen | None:
    """Return a module, a Frozen or something with a backbone as a Frozen; None if it is none of these."""
    if isinstance(value, Frozen):
        return value
    module = value if isinstance(value, torch.nn.Module) else getattr(value, "backbone", None)
    return Frozen(module) if isinstance(module, torch.nn.Module) else None


def _groups(by_seed: Mapping[int, Frozen]) -> list[tuple[Frozen, list[int]]]:
    """Group the seeds by backbone, so that the features of each are computed once."""
    groups: dict[Any, tuple[Frozen, list[int]]] = {}
    for number, network in by_seed.items():
        same = id(network.backbone), network.layer, str(network.mean), str(network.std)
        groups.setdefault(same, (network, []))[1].append(number)
    return list(groups.values())


def _costs(costs: object, arms: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    if costs is None:
        return {name: {} for name in arms}
    if not isinstance(costs, Mapping):
        raise InputError(f"costs of probe must map arms to seconds by stage; got {type(costs).__name__}.")
    for name in costs:
        if name not in arms:
            raise InputError(f"costs of probe name the arm {name!r}; the backbones are {', '.join(arms)}.")
    return {name: cost_of("probe", name, costs.get(name, {})) for name in arms}


def _provenance(
    source: Source,
    tests: Mapping[str, Source],
    arms: Mapping[str, Mapping[int, Frozen]],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    networks = {
        name: {str(number): network.describe() for number, network in by_seed.items()} for name, by_seed in arms.items()
    }
    inputs = {
        "source": source.provenance,
        "tests": {name: found.provenance for name, found in tests.items()},
        "backbones": networks,
    }
    return record("probe", settings, inputs)
