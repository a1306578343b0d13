"""Bad input of every kind, as a user would type it, and the one line each gets.

`docs/refusals.md` is generated from this table and a test runs it, so the page cannot drift from the code.
A case is Python run with `wn`, `np`, `torch`, a small source `src`, its signals `sig` and scores `sco` and a source
of another shape `other`, in a directory that `prepare` has filled; or a command line that starts with `winnow`.
"""

from __future__ import annotations

import io
import tarfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

# (what is wrong, what was typed)
CASES = [
    # opening
    ("unknown data set", "wn.open('digitz')"),
    ("missing file", "wn.open('nowhere.parquet')"),
    ("a file of unknown kind", "wn.open('notes.xyz')"),
    ("an empty folder", "wn.open('empty')"),
    ("a pickle", "wn.open('model.pkl')"),
    ("no test split", "wn.open('rows.csv', split='test')"),
    ("an unknown label column", "wn.open('rows.csv', labels='pricee')"),
    ("an unknown column to drop", "winnow check rows.csv --drop pricee"),
    ("a column of dictionaries", "wn.open('nested.jsonl')"),
    ("vectors of different lengths", "wn.open('ragged.jsonl')"),
    ("a missing value that the training data do not have", "wn.open('holes.csv', like=wn.open('rows.csv'))"),
    ("a column that only the training data have", "wn.open('holes.csv', like=wn.open('words.csv'))"),
    ("an npy file of objects", "wn.open('objects.npy')"),
    ("a function that returns too few rows", "wn.open([1, 2, 3], encode=lambda batch: np.zeros((2, 4)))"),
    ("a function that returns NaN", "wn.embed([1, 2, 3], lambda batch: np.full((3, 4), np.nan))"),
    ("a dictionary without a usual key", "wn.open(torch.utils.data.StackDataset(a=np.eye(3), b=np.eye(3)))"),
    ("a damaged tar shard", "wn.open('broken.tar')"),
    ("a name twice in tar shards", "wn.open('shards')"),
    ("an empty stream", "wn.open(torch.utils.data.ChainDataset([]))"),
    ("NaN in the inputs", "wn.open((np.full((4, 2), np.nan), [0, 1, 0, 1]))"),
    ("an infinite input", "wn.open((np.full((4, 2), np.inf), [0, 1, 0, 1]))"),
    ("NaN in a regression target", "wn.open((np.zeros((3, 2)), [0.5, np.nan, 1.5]))"),
    ("no examples", "wn.open((np.zeros((0, 2)), []))"),
    ("one class", "wn.open((np.arange(8.0).reshape(4, 2), [1, 1, 1, 1]))"),
    ("labels of another length", "wn.open((np.zeros((4, 2)), [0, 1]))"),
    ("strings and numbers", "wn.open(['a fine film', 3])"),
    ("an unknown column of text", "wn.open('words.csv', text='color')"),
    ("a missing text", "wn.open('gaps.jsonl')"),
    ("a network that does not take text", "wn.observe((['a fine film', 'dull'], [1, 0]), 'mlp')"),
    ("text for inputs", "wn.open((np.array([['a'], ['b']]), [0, 1]))"),
    ("complex inputs", "wn.open((np.zeros((2, 2), dtype=complex), [0, 1]))"),
    ("an id twice", "wn.open((np.zeros((3, 2)), [0, 1, 0]), ids=['a', 'b', 'a'])"),
    ("a label outside the classes", "wn.open((np.zeros((3, 2)), ['cat', 'dog', 'cow']), classes=['cat', 'dog'])"),
    ("an unknown task", "wn.open((np.zeros((3, 2)), [0, 1, 0]), task='clasification')"),
    ("one-hot rows", "wn.open((np.zeros((3, 2)), [[1, 0], [0, 1], [1, 0]]))"),
    ("several labels that are not 0 or 1", "wn.open((np.zeros((3, 2)), [0, 1, 2]), task='multilabel')"),
    ("a missing label in a list", "wn.open((np.zeros((3, 2)), [['cat', None], [], ['dog']]))"),
    ("a label column that is not true or false", "wn.open('rows.csv', labels=['a', 'label'])"),
    (
        "a score that needs one class per example",
        "wn.score('margin', wn.observe((np.eye(4), [['a', 'b'], [], ['b'], ['a']]), 'mlp', wn.Recipe(epochs=1)))",
    ),
    ("an unreadable image", "(s := wn.open('photos')).fetch(s.ids)"),
    ("images larger than any memory", "wn.open('digits', size=10**6)"),
    ("images of different sizes", "(s := wn.open('sizes')).fetch(s.ids)"),
    ("a damaged parquet file", "wn.open('broken.parquet')"),
    ("an unknown id", "src.fetch(['no such id'])"),
    ("an unknown column of groups", "wn.open('rows.csv', group='patient')"),
    ("groups in the label column", "wn.open('rows.csv', group='label')"),
    ("groups of another length", "wn.open((np.eye(4), [0, 1, 0, 1]), group=[1, 1, 2])"),
    ("a missing group", "wn.open((np.eye(4), [0, 1, 0, 1]), group=['a', None, 'b', 'b'])"),
    ("a time that is not a date", "wn.open((np.eye(4), [0, 1, 0, 1]), time=['soon', 'now', 'then', 'later'])"),
    ("one group to split", "wn.prune_with_proof(wn.open(src, group=np.zeros(len(src))), keep=0.5, method='random')"),
    # recipes and models
    ("no epochs", "wn.Recipe(epochs=0)"),
    ("a negative learning rate", "wn.Recipe(lr=-0.1)"),
    ("an unknown optimiser", "wn.Recipe(optimizer='adamm')"),
    ("an unknown augmentation", "wn.Recipe(augment=('flop',))"),
    ("an unknown network", "wn.models.build('lenet6', classes=10)"),
    ("a missing file of weights", "wn.models.build('resnet20', classes=10, weights='no.safetensors')"),
    ("fine-tuning from no weights", "wn.models.FineTune('resnet20')"),
    ("an unknown layer to freeze", "wn.observe(src, wn.models.FineTune(torch.nn.Linear(3, 2), freeze='layr'))"),
    ("everything frozen", "wn.observe(src, wn.models.FineTune(torch.nn.Linear(3, 2), freeze=('backbone', 'head')))"),
    ("an unknown kind of head", "wn.models.FineTune(torch.nn.Linear(2, 2), head='old')"),
    ("a Frozen model where none is accepted", "wn.train(src, model=wn.models.Frozen(torch.nn.Flatten()))"),
    ("a sequence instead of a vector", "wn.embed(src, torch.nn.Unflatten(1, (1, 2)))"),
    ("a missing folder of a transformers model", "wn.embed(['a fine film', 'dull'], 'hf:models/none')"),
    ("a folder without config.json", "wn.embed(['a fine film', 'dull'], 'hf:empty')"),
    ("a transformers model for a table", "wn.observe(src, 'hf:empty')"),
    ("a sentence encoder that is not installed", "wn.embed(['a fine film', 'dull'], 'sentence:no-such-package')"),
    ("token losses without a language model", "wn.observe(['a fine film', 'dull'], want=('token_losses',))"),
    ("token losses of a table", "wn.observe(src, 'hf:empty', want=('token_losses',))"),
    # observing
    ("an object that cannot be opened", "wn.observe(42)"),
    ("no labels to train on", "wn.observe(wn.open(np.zeros((4, 2))))"),
    ("an unknown signal to record", "wn.observe(src, want=('logitz',))"),
    ("logits of a regression", "wn.observe(wn.open((np.zeros((3, 2)), [0.5, 1.5, 2.5])), want=('logits',))"),
    ("seeds below one", "wn.observe(src, seeds=0)"),
    ("an unknown estimator", "wn.observe(src, 'sklearn:LogisticRegresion')"),
    ("an unknown option of an estimator", "wn.observe(src, 'sklearn:LogisticRegression:c=1')"),
    ("gradients of an estimator", "wn.observe(src, 'sklearn:LogisticRegression', want='gradients')"),
    ("a training that diverges", "wn.observe(src, 'mlp', wn.Recipe(epochs=2, lr=1e30, optimizer='sgd'), 1)"),
    ("a position out of range", "wn.Recorder(4, 2).log([9], [[0.0, 1.0]], [0])"),
    ("NaN logits", "wn.Recorder(2, 2).log([0, 1], [[0.0, np.nan], [0, 0]], [0, 1])"),
    ("a target out of range", "wn.Recorder(2, 2).log([0, 1], [[0.0, 1.0], [1, 0]], [0, 2])"),
    # scoring and selecting
    ("an unknown score", "wn.score('el2m', sig)"),
    ("a score without what it needs", "wn.score('grand', sig)"),
    ("an unknown parameter", "wn.score('el2n', sig, epochh=3)"),
    ("an epoch that was not recorded", "wn.score('el2n', sig, epoch=99)"),
    ("an unknown selector", "wn.select('rnak', sco, keep=0.5)"),
    ("keep of zero", "wn.select('rank', sco, keep=0)"),
    ("keep above one", "wn.select('rank', sco, keep=1.5)"),
    ("keep that is NaN", "wn.select('rank', sco, keep=float('nan'))"),
    ("keep as text", "wn.select('rank', sco, keep='half')"),
    ("keep and size together", "wn.select('rank', sco, keep=0.5, size=3)"),
    ("a size larger than the data", "wn.select('rank', sco, size=10_000)"),
    ("balance above one", "wn.select('rank', sco, keep=0.5, balance=2)"),
    ("a negative seed", "wn.select('random', sco, keep=0.5, seed=-1)"),
    ("an unknown policy", "wn.select('rank', sco, keep=0.5, policy='hardest')"),
    # pruning and proof
    ("neither keep nor tolerance", "wn.prune(src)"),
    ("an unknown keyword", "wn.observe(src, lables='y')"),
    ("labels for a source that is already open", "wn.prune(src, keep=0.5, labels='y')"),
    ("a tolerance of zero", "wn.prune(src, tolerance=0)"),
    ("an unknown method", "wn.prune(src, keep=0.5, method='el2n+rnak')"),
    ("an unknown metric", "wn.prune(src, tolerance=0.1, metric='balanced')"),
    ("soft targets for an estimator", "wn.prune(src, keep=0.5, model='sklearn:LogisticRegression', targets='soft')"),
    ("a plan for an estimator", "wn.plan(src, model='sklearn:LogisticRegression')"),
    ("a subset of other data", "wn.evaluate(src, {'mine': wn.Subset(np.array(['x', 'y']))}, test=src)"),
    ("a test set of another shape", "wn.evaluate(src, {'mine': wn.Subset(src.ids[:9])}, test=other)"),
    ("a reserved name", "wn.evaluate(src, {'full': wn.Subset(src.ids[:9])}, test=src)"),
    ("a file that is not a subset", "wn.Subset.load('rows.csv')"),
    ("an empty subset", "wn.Subset(np.array([], dtype=int))"),
    ("an unknown weighting", "wn.evaluate(src, {'mine': wn.Subset(src.ids[:9])}, test=src, weighting='draws')"),
    ("a rank without the number of processes", "wn.Subset(src.ids).sampler(0, rank=1)"),
    ("a sampler for a part of the data", "wn.Subset(src.ids[:9]).sampler(0, dataset=range(9), source=src)"),
    ("a weight of zero", "wn.Subset(np.array([1, 2]), weights=np.array([1.0, 0.0]))"),
    # theory
    ("no kept examples", "wn.theory.solve(0)"),
    ("alpha that is not a number", "wn.theory.solve(float('nan'))"),
    ("a fraction outside (0, 1]", "wn.theory.solve(3, keep=0)"),
    ("an angle outside [0, 90]", "wn.theory.solve(3, angle=120)"),
    ("a policy the theory does not know", "wn.theory.solve(3, 0.5, policy='hardest')"),
    ("a window without data", "wn.theory.window(50, 60)"),
    ("an empty curve", "wn.theory.learning_curve([])"),
    ("a best fraction that does not exist", "wn.theory.best_keep(3)"),
    ("a frontier without a limit", "wn.theory.frontier([1, 2, 3])"),
    ("simulated students without examples", "wn.theory.simulate(0.001, N=100)"),
    ("labels that no line separates", "wn.theory.max_margin([[1.0], [2.0]], [1, -1])"),
    ("too few sizes to fit", "wn.theory.fit_scaling([100, 200], [0.3, 0.2])"),
    ("errors that do not vary", "wn.theory.fit_scaling([1, 2, 4, 8, 16], [0.3] * 5)"),
    ("errors that rise", "wn.theory.fit_scaling([1, 2, 4, 8, 16], [0.1, 0.2, 0.3, 0.4, 0.5])"),
    ("runs of different length", "wn.theory.pareto([100, 200], [0.5], [0.1, 0.2])"),
    # planning and lpNTK
    ("a plan of an object that cannot be opened", "wn.plan({1, 2})"),
    ("a pilot larger than the data", "wn.plan(src, pilot=True, pilot_size=10**6)"),
    ("a plan that is not a Plan", "wn.prune(src, 0.5, plan=3)"),
    # new data
    ("a base that is not a run directory", "wn.prune(src, 0.5, base=3)"),
    ("a base that is a run of another command", "wn.prune(src, 0.5, base='run')"),
    ("a base that does not exist", "winnow prune rows.csv --keep 0.5 --since nowhere"),
    # out again
    ("an export without an ending", "wn.Subset(src.ids[:3]).export('kept', src)"),
    ("an export to an unknown format", "wn.Subset(src.ids[:3]).export('kept', src, 'xls')"),
    ("an export without the data", "wn.Subset(src.ids[:3]).export('kept.npz')"),
    ("an export over the data", "wn.Subset((s := wn.open('rows.csv')).ids[:3]).export('rows.csv', s)"),
    ("an export of other data", "wn.Subset(src.ids[:3]).export('kept.npz', other)"),
    ("an export of images as a table", "wn.Subset((s := wn.open('digits')).ids[:3]).export('kept.csv', 'digits')"),
    ("a filter of a path", "wn.Subset((s := wn.open('rows.csv')).ids[:3]).filter('rows.csv')"),
    ("a missing subset file", "winnow export nowhere.parquet rows.csv --out kept.csv"),
    ("a label without a logit", "wn.lpntk.gram(torch.nn.Linear(2, 2), np.zeros((2, 2), np.float32), [0, 2])"),
    ("a kernel of one example", "wn.lpntk.gram(torch.nn.Linear(2, 2), np.zeros((1, 2), np.float32), [0])"),
    ("an unknown kind of kernel", "wn.lpntk.gram(torch.nn.Linear(2, 2), np.zeros((2, 2), np.float32), [0, 1], 'ntk')"),
    ("a kernel that is not square", "wn.lpntk.redundant(np.ones((2, 3)))"),
    # moments
    ("an order of zero", "wn.moments.compress(np.arange(9.0), 3, 0)"),
    ("a size of zero", "wn.moments.compress(np.arange(9.0), 0, 1)"),
    ("points that are not numbers", "wn.moments.compress([0.0, np.nan, 1.0], 2, 1)"),
    ("weights without a sum", "wn.moments.compress(np.arange(9.0), 3, 1, np.zeros(9))"),
    ("weights below zero", "wn.moments.compress(np.arange(3.0), 2, 1, [1, -1, 1])"),
    ("fewer points than moments", "wn.moments.compress(np.random.default_rng(0).random((99, 3)), 30, 4)"),
    ("too many directions to match", "wn.select('moments', wn.embed(src), size=4, dims=3)"),
    # narrowing
    ("a width of zero", "wn.narrow(wn.models.build('mlp', classes=3), 0)"),
    ("too narrow", "wn.narrow(wn.models.build('mlp', classes=1, shape=(2,), hidden=[80]), 20, 3, dims=None)"),
    (
        "a norm over all neurons",
        "wn.narrow(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)), 4)",
    ),
    ("a dropout between two layers", "wn.narrow(torch.nn.TransformerEncoderLayer(8, 2, 64, batch_first=True), 16)"),
    ("an unknown layer", "wn.narrow(wn.models.build('mlp', classes=3), 40, layers=['linaer1'])"),
    ("folding what was not narrowed", "wn.narrowing.fold(torch.nn.Linear(2, 2))"),
    # relabelling: making targets, and distances between priors
    ("a prior that gives no vector", "wn.relabel.targets(wn.open(np.ones((4, 2, 5, 5))), torch.nn.ReLU(), 2)"),
    ("a prior for other inputs", "wn.relabel.targets(src, torch.nn.Linear(7, 2), 2)"),
    ("a prior that gives NaN", "wn.relabel.targets(src, np.full((40, 3), np.nan), 2)"),
    ("embeddings with another number of rows", "wn.relabel.targets(src, np.zeros((39, 3)), 2)"),
    ("a prior that gives all examples the same vector", "wn.relabel.targets(src, np.ones((40, 3)), 2)"),
    ("more dimensions than the prior has", "wn.relabel.targets(src, np.eye(40), 41)"),
    ("an unknown scale of targets", "wn.relabel.targets(src, np.eye(40), 2, 'whitn')"),
    ("targets of one example", "wn.relabel.targets(src.at(np.arange(1)), np.eye(1), 1)"),
    ("targets saved in another format than parquet", "wn.relabel.targets(src, np.eye(40), 2, out='targets.csv')"),
    ("a target without a direction", "wn.relabel.Targets(np.arange(2), np.array([[1.0, 2.0], [0.0, 0.0]]))"),
    ("an example without a target", "wn.relabel.targets(src.at(np.arange(30)), np.eye(30), 2).source(src)"),
    ("a file that does not hold targets", "wn.relabel.Targets.load('rows.csv')"),
    ("representations with different numbers of rows", "wn.relabel.representation_distance(np.eye(9), np.eye(8))"),
    ("a constant representation", "wn.relabel.representation_distance(np.eye(9), np.ones((9, 2)))"),
    ("an unknown form of distance", "wn.relabel.representation_distance(np.eye(9), np.eye(9), form='neighbor')"),
    ("one prior to compare", "wn.relabel.compare({'mine': np.eye(9)})"),
    # relabelling: the accelerator, the probe, soft labels
    ("targets without a direction", "wn.Accelerator(3, 2).loss(torch.ones(4, 3), torch.zeros(4, 2))"),
    ("targets of another size", "wn.Accelerator(3, 2).loss(torch.ones(4, 3), torch.ones(4, 5))"),
    ("an unknown switch", "wn.Accelerator(3, 2, switch='adaptve')"),
    ("an unknown self-supervised method", "wn.relabel.accelerate('boyl', wn.open(np.ones((4, 1, 8, 8), 'uint8')))"),
    ("pretraining on rows", "wn.relabel.accelerate('byol', src)"),
    ("a backbone that gives no vector", "wn.probe(src, {'mine': torch.nn.Flatten(0)}, test=src)"),
    ("no backbones", "wn.probe(src, {}, test=src)"),
    ("a backbone for another shape", "wn.probe(src, {'mine': torch.nn.Linear(7, 2)}, test=src)"),
    ("negative soft labels", "wn.relabel.SoftLabels(['a', 'b'], [[1.5, -0.5], [0, 1]], ('no', 'yes'))"),
    ("soft labels that do not sum to one", "wn.relabel.SoftLabels(['a', 'b'], [[0.5, 0.4], [0, 1]], ('no', 'yes'))"),
    ("NaN among soft labels", "wn.relabel.SoftLabels(['a', 'b'], [[np.nan, 1], [0, 1]], ('no', 'yes'))"),
    ("soft labels of other classes", "wn.relabel.SoftLabels(['a', 'b'], [[0.5, 0.5], [0, 1]], ('a', 'b', 'c'))"),
    ("a prior for other classes", "wn.relabel.soft_labels(src, torch.nn.Linear(3, 99))"),
    ("an untrained prior's soft labels", "wn.relabel.soft_labels(src, 'mlp')"),
    ("soft labels that are an array", "wn.evaluate(src, {}, test=src, soft=np.ones((4, 2)))"),
    # influence
    ("a softmax head without damping", "wn.influence.vectors(np.eye(2), np.full((2, 2), 0.5), [0, 1], 0)"),
    ("outputs that are not probabilities", "wn.influence.vectors(np.eye(2), np.ones((2, 2)), [0, 1], 0.1)"),
    ("removing everything", "wn.influence.prune_by_count(np.eye(4), 4)"),
    ("spare='loss' without the head", "wn.influence.prune_by_count(np.eye(4), 2, spare='loss')"),
    ("a bound of zero", "wn.influence.prune_by_bound(np.eye(4), 0, 2)"),
    ("an unknown head", "wn.influence.from_model(torch.nn.Linear(2, 2), 'head', np.eye(2), [0, 1], 0.1)"),
    (
        "too few networks to rank",
        "wn.proxy(src, {'mine': wn.Subset(src.ids[:9])}, test=src, networks=['mlp'])",
    ),
    # the command line
    ("an unknown command", "winnow prun digits"),
    ("keep out of range", "winnow prune rows.csv --keep 2"),
    ("neither --keep nor --tolerance", "winnow prune rows.csv"),
    ("an unknown engine", "winnow prune rows.csv --keep 0.5 --engine locl"),
    ("a run directory that is another folder", "winnow prune rows.csv --keep 0.5 --out empty/../photos"),
    ("a missing run directory", "winnow score el2n nowhere"),
    ("an unknown example", "winnow explain rows.csv no-such-id --labels label"),
    ("a parameter without a value", "winnow score el2n run --set epoch"),
    ("a prior without a dimension", "winnow relabel rows.csv --prior random"),
    ("a width that is not a number", "winnow narrow wide.safetensors --model mlp --width many"),
]  # fmt: skip


def prepare(folder: Path) -> None:
    """Fill a folder with files that are wrong in one way each."""
    from PIL import Image

    (folder / "empty").mkdir()
    (folder / "notes.xyz").write_text("what is this?")
    (folder / "model.pkl").write_bytes(b"\x80\x04N.")
    (folder / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    (folder / "rows.csv").write_text("a,b,label\n" + "".join(f"{i},{i * i % 7},{'xy'[i % 2]}\n" for i in range(40)))
    (folder / "words.csv").write_text("a,colour,label\n1,red,x\n2,blue,y\n")
    (folder / "gaps.jsonl").write_text('{"text": "a fine film", "label": 1}\n{"text": null, "label": 0}\n')
    (folder / "nested.jsonl").write_text('{"a": {"b": 1}, "label": 1}\n{"a": {"b": 2}, "label": 0}\n')
    (folder / "ragged.jsonl").write_text('{"a": [1, 2], "label": 1}\n{"a": [3], "label": 0}\n')
    (folder / "broken.tar").write_bytes(b"nonsense")
    (folder / "shards").mkdir()
    for shard in ("0.tar", "1.tar"):
        with tarfile.open(folder / "shards" / shard, "w") as archive:
            archive.addfile(tarfile.TarInfo("one.txt"), io.BytesIO())
    np.save(folder / "objects.npy", np.array([{}], dtype=object))
    (folder / "holes.csv").write_text("a,b,label\n1,2,x\n3,,y\n4,5,x\n")
    for kind in ("ant", "bee"):
        for root, side in (("photos", 8), ("sizes", 8 if kind == "ant" else 9)):
            (folder / root / kind).mkdir(parents=True)
            Image.new("L", (side, side), 100).save(folder / root / kind / "1.png")
    (folder / "photos" / "bee" / "2.png").write_bytes(b"\x89PNG and then nothing")
    (folder / "run").mkdir()
    (folder / "run" / "run.json").write_text('{"format": 2, "settings": {}}')


def names() -> dict[str, Any]:
    """What a case may use: a small source, its signals and scores."""
    import torch

    import winnow as wn

    rng = np.random.default_rng(0)
    src = wn.open((rng.normal(size=(40, 3)), np.arange(40) % 2))
    sig = wn.observe(src, "mlp", wn.Recipe(epochs=2), 1)
    other = wn.open((rng.normal(size=(4, 5)), [0, 1, 0, 1]))
    return {"wn": wn, "np": np, "torch": torch, "src": src, "other": other, "sig": sig, "sco": wn.score("el2n", sig)}


def answer(typed: str, known: dict[str, Any]) -> str:
    """The line a case gets; run inside the prepared folder."""
    from winnow.cli import _run
    from winnow.core.errors import WinnowError

    if typed.startswith("winnow "):
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(said):
            code = _run(typed.split()[1:])
        if code != 2:
            raise AssertionError(f"{typed!r} ended with code {code}: {said.getvalue()}")
        return said.getvalue().strip()
    try:
        eval(typed, dict(known))
    except WinnowError as error:
        return str(error)
    raise AssertionError(f"{typed!r} was accepted")
