"""why: which training examples taught a network its mistakes, checked by removing them and training again.

A network is trained once. A head is trained to its optimum on the network's features, where the effect of removing an
example on the loss of a test example is known (influence, with the regulariser and the factor that the printed formula
lacks). The examples whose removal would lower the loss on a wrongly predicted test example most are its teachers. For
each mistake the head is trained again without them, and without random examples of the same class. Beside them stand
the examples that are nearest to the mistake by the labelled pseudo neural tangent kernel of the whole network: a step
on them pushes the test example towards the wrong class.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..artefacts import Source, record
from ..artefacts.gallery import Gallery
from ..artefacts.mistakes import Mistake, Mistakes, Teacher
from ..core.errors import InputError, NotDefinedError, NotFoundError
from ..core.parameter_names import of
from ..core.request import Parameter, RunDirectory, Seed, VerbRequest, number, request, whole
from ..core.run import Run
from ..methods.lpntk import cross, features
from ..models import choose
from ..models.identity import Network, describe, network_code
from ..models.text_transformers import gives_example_gradients
from ..report.mistakes_page import write_mistakes
from ..report.pictures import make_pictures
from ..signals.embed import embeddings_of
from ..sources.openable import Data, test_sets
from ..training import Feed, predict
from ..training.recipe import How
from .head_mistakes import HeadMistakes
from .reduced_features import head_features_of, reduced
from .trained_once import EXACT, PROJECTED, Trained

__all__ = ["why"]

MOST = 2_048  # parameters of the head: features beyond are reduced to principal directions

Test = Annotated[
    Any, Parameter("Test data; the test split of the data if not given.", plain=None, kind=str | None)
]  # fmt: skip


def _several(name: str, owner: str, value: Any) -> tuple[Any, ...] | None:
    """One id or several, as text or numbers."""
    if value is None:
        return None
    found = tuple(np.atleast_1d(np.asarray(value)).ravel().tolist())
    if not found or not all(isinstance(one, str | int) for one in found) or len(set(found)) < len(found):
        raise InputError(f"{of(name, owner)} must be one id of the test data or several, each once; got {value!r}.")
    return found


Ids = Annotated[Any, Parameter("", _several, plain=lambda given: given and [str(one) for one in given], option=None)]


def why(
    source: Data,
    test: Test = None,
    ids: Ids = None,
    *,
    worst: Annotated[int, whole("Number of mistakes to explain, the worst ones.", low=1, high=1000)] = 10,
    k: Annotated[int, whole("Number of training examples to name per mistake.", low=1, option="teachers")] = 10,
    draws: Annotated[int, whole("Number of random removals to compare with; 0 skips the check.", low=0)] = 5,
    damping: Annotated[float, number("Regulariser of the head.", low=0.0, open_low=True)] = 0.01,
    model: Network = "auto",
    recipe: How = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    **opening: Any,
) -> Mistakes:
    """Name the training examples that taught a network its worst mistakes on test data, and check by removing them.

    Parameters
    ----------
    source
        The training data, with class labels: a Source, or anything that `wn.open` takes.
    test
        The test data; the test split of the source if not given.
    ids
        Test examples to explain, whether they are wrong or not; the worst mistakes if not given.
    worst
        How many mistakes to explain: those of the network, by the loss of the head on its features.
    k
        How many training examples to name for each.
    draws
        How many random removals of k examples to compare with. With 0 the head is not trained again.
    damping
        The regulariser of the head, lam of mean loss + lam / 2 |theta|^2.
    model, recipe
        What to train and how, as for `observe`.
    seed
        Decides everything random.
    out
        A run directory, which stores the result as `why.json` and `why.html`, and the trained network.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Mistakes
        For each mistake its teachers, the predicted change of the loss and the one found by training again.

    Raises
    ------
    InputError
        If there are no test data, or not the given ids among them, or a parameter has an invalid value.
    NotDefinedError
        If the data have no class labels.

    Examples
    --------
    >>> import winnow as wn
    >>> found = wn.why("digits", limit=200, worst=2, k=3, draws=2, recipe=wn.Recipe(epochs=3))
    >>> [len(one.teachers) for one in found.mistakes]
    [3, 3]
    """
    asked = request(why, locals())
    data: Source = asked.source
    if data.task != "classification":
        raise NotDefinedError(f"why needs class labels; source {data.name!r} has the task {data.task}.")
    other = test_sets(asked)
    if other is None:
        raise NotFoundError(f"why needs test data: pass test=, because source {data.name!r} has no test split.")
    if other.labels is None:
        raise NotDefinedError(f"test of why needs labels; source {other.name!r} has none.")
    if k > len(data) // 2:
        raise InputError(f"{of('k', 'why')} must be at most half of the {len(data)} training examples; got {k}.")
    is_auto = isinstance(model, str) and model == "auto"
    network = choose(data.shape, data.kind, data.outputs) if is_auto else model
    settings = {"command": "why", **asked.settings(), "model": describe(network), "test": other.fingerprint}
    with Run.opened(out, settings, extend=False) as run:
        made_from = record("why", settings, {"source": data.provenance, "test": other.provenance})
        found = run.step(
            "why/mistakes",
            Mistakes,
            lambda: _mistakes(asked, network, other, run, made_from),
            key=network_code(network),
            file="why.json",
        )
        if run.path is not None:
            _write_page(run, data, other, found)
    return found


def _mistakes(asked: VerbRequest, network: Any, other: Source, run: Run, made_from: Mapping[str, Any]) -> Mistakes:
    data, seed = asked.source, asked.seed
    trained = Trained.by(run, data, network, asked.recipe, seed, "why", gradients=False)
    exam = Feed(other, trained.feed.scaling)
    said = predict(trained.net, exam, trained.recipe).argmax(axis=1)
    points, seen = (
        found.reshape(len(found), -1)
        for found in (embeddings_of(trained.net, feed, trained.recipe, None)[0] for feed in (trained.feed, exam))
    )
    rows, others = head_features_of(*reduced(points, seen, max(1, MOST // data.outputs - 1)))
    assert others is not None
    truth = np.asarray(other.labels)[exam.order].astype(np.int64)
    head = HeadMistakes.of(
        rows, trained.labels.astype(np.int64), trained.feed.ids, others, truth, data.outputs, asked.damping
    )
    wrong = np.flatnonzero(said != truth)
    if asked.ids is None:
        chosen = wrong[np.argsort(-head.losses()[wrong], kind="stable")][: asked.worst]
    else:
        place = {str(id): i for i, id in enumerate(exam.ids.tolist())}
        missing = [id for id in asked.ids if str(id) not in place]
        if missing:
            raise InputError(f"ids of why must be of the test data; {str(missing[0])!r} is not among its {len(other)}.")
        chosen = np.array([place[str(id)] for id in asked.ids], dtype=np.int64)
    near = _kernel(trained, exam, chosen, said, seed)
    influences = head.influences(chosen)
    made = [
        _mistake(asked, head, data, exam, int(i), int(said[i]), influences[row], None if near is None else near[row])
        for row, i in enumerate(chosen)
    ]
    return Mistakes(
        source=data.name,
        test=other.name,
        model=trained.name,
        examples=len(data),
        tested=len(other),
        wrong=int(wrong.size),
        k=asked.k,
        damping=asked.damping,
        mistakes=tuple(made),
        provenance=made_from,
    )


def _mistake(
    asked: VerbRequest, head: HeadMistakes, data: Source, exam: Feed, test: int, said: int, influence: Any, near: Any
) -> Mistake:
    """One mistake: its teachers, and what training again finds."""
    k, classes = asked.k, data.classes or tuple(map(str, range(data.outputs)))
    named = np.argsort(influence, kind="stable")[:k]
    alike = np.zeros(0, dtype=np.int64) if near is None else np.argsort(-near, kind="stable")[:k]

    def teacher(i: int) -> Teacher:
        cosine = None if near is None else float(near[i])
        return Teacher(head.ids[i].item(), str(classes[int(head.labels[i])]), float(influence[i]), cosine)

    truth, id = int(head.truth[test]), exam.ids[test].item()
    about: dict[str, Any] = {}
    if asked.draws:
        own = np.full(min(k, int((head.labels == truth).sum()) // 2), truth)

        def random(labels: Any, kind: str) -> tuple[float, ...]:
            if not labels.size:
                return ()
            draws = (head.drawn(labels, (kind, str(id), number), asked.seed) for number in range(asked.draws))
            return tuple(head.without(where, test) for where in draws)

        about = {
            "found": head.without(named, test),
            "found_alike": head.without(alike, test) if alike.size else None,
            "random": random(own, "own class"),
            "matched": random(head.labels[named], "labels of the teachers"),
        }
    n = len(head.rows)
    return Mistake(
        id=id,
        label=str(classes[truth]),
        predicted=str(classes[said]),
        loss=float(head.losses()[test]),
        teachers=tuple(teacher(int(i)) for i in named),
        alike=tuple(teacher(int(i)) for i in alike),
        foretold=float(influence[named].sum()) * (n - 1) / (n - k),
        **about,
    )


def _kernel(trained: Trained, exam: Feed, chosen: Any, said: Any, seed: int) -> Any:
    """The lpNTK cosine of each chosen test example, under its predicted class, with every training example."""
    if not chosen.size or not gives_example_gradients(trained.net):
        return None
    x, y = exam.inputs(chosen), said[chosen]
    everyone = np.arange(len(trained.feed))
    if everyone.size <= EXACT:
        inputs = trained.feed.inputs(everyone)
        kernel = cross(trained.net, x, y, inputs, trained.labels)
        lengths = [np.sqrt(_squares(trained, *one)) for one in ((x, y), (inputs, trained.labels))]
        return np.asarray(kernel / np.maximum(np.outer(*lengths), 1e-30), dtype=np.float64)
    mine = features(trained.net, x, y, project=PROJECTED, seed=seed)
    theirs = features(trained.net, trained.feed.inputs(everyone), trained.labels, project=PROJECTED, seed=seed)
    mine, theirs = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30) for rows in (mine, theirs))
    return np.asarray(mine @ theirs.T, dtype=np.float64)


def _squares(trained: Trained, x: Any, y: Any) -> Any:
    """Squared lengths of the features, a few at a time."""
    parts = [slice(start, start + 64) for start in range(0, len(y), 64)]
    return np.concatenate([np.diagonal(cross(trained.net, x[part], y[part], x[part], y[part])) for part in parts])


def _write_page(run: Run, data: Source, other: Source, found: Mistakes) -> None:
    """Write the page, with images of the test examples and of those who taught them."""
    taught = dict.fromkeys(one.id for mistake in found.mistakes for one in (*mistake.teachers, *mistake.alike))
    pictures = run.step(
        "why/pictures",
        Gallery,
        lambda: make_pictures(data, list(taught)),
        key=list(map(str, taught)),
        file="pictures.json",
    )
    tested = run.step(
        "why/test-pictures",
        Gallery,
        lambda: make_pictures(other, [one.id for one in found.mistakes]),
        key=[str(one.id) for one in found.mistakes],
        file="test-pictures.json",
    )
    write_mistakes(found, pictures, tested, Path(run.path or ".") / "why.html")
