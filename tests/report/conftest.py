"""Artefacts made by hand, with known numbers, for the report's tests."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.artefacts import Outcome, Scores, Source, Study, Subset
from winnow.artefacts.study import Arm
from winnow.core.files import write_json
from winnow.report.pictures import make_gallery

CLASSES = ("zero", "one", "two", "three")
CHANGES = (-0.004, 0.003, 0.0, 0.002, -0.001)  # of the seeds, summing to zero


@pytest.fixture
def make_study():
    """A study of full, random and one subset arm per fraction, with chosen mean differences."""

    def make(
        full=0.95,
        random=0.90,
        ours=0.92,
        *,
        seeds=5,
        keeps=(0.4,),
        methods=("el2n",),
        noise=0.001,
        selection=None,
        seconds=(10.0, 4.0),
        metric="accuracy",
        tests=("test",),
        classes=CLASSES,
        size=1000,
    ):
        costs = {"observe": 8.0, "score": 0.5, "select": 0.5} if selection is None else selection
        arms = [Arm("full", "full", size, 1.0, class_balance=1.0 if classes else None)]
        levels = {"full": (full, seconds[0])}
        for keep in keeps:
            arms.append(Arm(f"random@{keep}", "random", int(keep * size), keep))
            levels[f"random@{keep}"] = (random, seconds[1])
            for number, method in enumerate(methods):
                arms.append(
                    Arm(
                        f"{method}@{keep}",
                        "subset",
                        int(keep * size),
                        keep,
                        baseline=f"random@{keep}",
                        class_balance=0.8 if classes else None,
                        selection=costs,
                        certificate={"guarantee": "none", "kept_hardest": True},
                    )
                )
                levels[f"{method}@{keep}"] = (ours - 0.002 * number, seconds[1])
        outcomes = []
        for place, (name, (level, cost)) in enumerate(levels.items()):
            for seed in range(seeds):
                for shift, test in enumerate(tests):
                    value = level + CHANGES[seed] + noise * CHANGES[(seed + place) % 5] / 0.004 - 0.1 * shift
                    per_class = tuple(value + 0.01 * (k - 1.5) for k in range(len(classes)))
                    outcomes.append(Outcome(name, seed, test, value, 0.3, per_class, 100, cost))
        return Study(
            metric,
            tuple(arms),
            tuple(outcomes),
            tuple(tests),
            tuple(classes),
            provenance={"step": "evaluate", "parameters": {"seeds": seeds}},
        )

    return make


class CountingReader:
    """Serves rows of an array and remembers which were asked for."""

    def __init__(self, data):
        self.data, self.asked = data, []

    def __call__(self, positions):
        self.asked += positions.tolist()
        return self.data[positions]


@pytest.fixture
def make_source():
    """A source of any kind whose ids are names in an order that is not the canonical one."""

    def make(kind="image", n=1000, *, task="classification", classes=CLASSES, shape=None, columns=(), prefix="ex"):
        rng = np.random.default_rng(3)
        shape = shape or {"image": (1, 8, 8), "table": (15,), "tensor": (3, 4, 5)}[kind]
        data = (
            rng.integers(0, 256, (n, *shape)).astype(np.uint8)
            if kind == "image"
            else (rng.normal(size=(n, *shape)).astype(np.float32))
        )
        labels = {
            "classification": np.arange(n) % len(classes) if classes else None,
            "regression": rng.normal(size=n),
            "unlabelled": None,
        }[task]
        ids = np.array([f"{prefix}-{number:04d}" for number in rng.permutation(n)])
        return Source(
            "digits",
            CountingReader(data),
            n,
            shape,
            kind,
            task,
            labels,
            tuple(classes) if task == "classification" else (),
            ids,
            columns,
        )

    return make


@pytest.fixture
def make_run(tmp_path, make_study, make_source):
    """A finished run directory."""

    def make(study=None, source=None, *, name="run", keep=0.4, score="el2n", reliability=0.83):
        study = make_study() if study is None else study
        source = make_source() if source is None else source
        where = tmp_path / name
        values = np.random.default_rng(1).gamma(2.0, size=len(source))
        scores = Scores(
            score,
            source.ids,
            values,
            reliability,
            source.task,
            source.labels,
            source.classes,
            {"step": "score", "parameters": {"name": score}},
        )
        hardest = source.ids[np.argsort(-values)[: round(keep * len(source))]]
        subset = Subset(hardest, certificate={"guarantee": "none", "kept_hardest": True}, provenance={"step": "select"})
        write_json(where / "run.json", {"format": 2, "settings": {"data": "digits", "keep": keep}})
        write_json(where / "steps" / "observe" / "seed-0.json", {"key": "k", "file": "f", "seconds": 8.0})
        scores.save(where / "scores" / f"{score}.parquet")
        subset.save(where / "subset.parquet")
        study.save(where / "study")
        make_gallery(source, scores, subset).save(where / "gallery.json")
        return where

    return make
