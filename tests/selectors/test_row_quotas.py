"""A key per row, exact quotas: against sorting, and against the selectors that hold everything in memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from tests.oracles import row_quotas as oracle
from winnow.core import registry
from winnow.core.errors import InputError, NotDefinedError
from winnow.selectors import row_blocks, row_quotas
from winnow.selectors.balance import combine
from winnow.selectors.pool import Pool
from winnow.selectors.row_blocks import PoolRows
from winnow.selectors.row_selection import choose_rows
from winnow.selectors.row_turn import Key, Turn
from winnow.selectors.select import select

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, -3.5]),
    st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e150, max_value=1e150),
)


@pytest.fixture
def crowded(monkeypatch):
    """Small blocks, few bins, and borders that have to be divided again and again."""
    monkeypatch.setattr(row_blocks, "BLOCK", 37)
    monkeypatch.setattr(row_quotas, "BINS", (4, 4))
    monkeypatch.setattr(row_quotas, "GATHERED", 3)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=120),
    share=st.floats(0, 1),
    gathered=st.sampled_from([0, 1, 5, 1000]),
)
def test_first_rows_are_those_of_sorting(rows, share, gathered):
    keys, ties, groups = (np.array(column) for column in zip(*rows, strict=True))
    held = np.bincount(groups, minlength=3)
    quotas = np.floor(share * held).astype(np.int64)
    pool = Pool(len(rows), 0.5, "classification", labels=groups, classes=("a", "b", "c"), scores=keys, ids=ties)
    turn = Turn(PoolRows(pool), held, quotas, 0.5, 0, by_class=True)
    key = Key(("scores",), lambda block, _: block["scores"], ("ids",), lambda block: (block["ids"] + 0.5) / 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "BLOCK", 16)
        patch.setattr(row_quotas, "BINS", (4, 4))
        patch.setattr(row_quotas, "GATHERED", gathered)
        found = row_quotas.first_rows(turn, key, quotas)
    assert np.flatnonzero(found).tolist() == oracle.first_rows(keys.tolist(), ties.tolist(), groups, quotas.tolist())


def observed(n: int, kind: str, seed: int = 0):
    """A pool of one shape of scores, with uneven classes and ids that are not the positions."""
    rng = np.random.default_rng(seed)
    scores = {
        "smooth": rng.gamma(2.0, size=n),
        "few": rng.integers(0, 4, n).astype(float),
        "flat": np.full(n, 2.0),
        "tail": np.exp(rng.normal(0, 30, n)),
        "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.random(n)),
        "by class": np.zeros(n),
    }[kind]
    labels = rng.choice(5, n, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    if kind == "by class":
        scores = labels + 1e-9 * rng.random(n)
    ids = np.sort(rng.choice(10 * n, n, replace=False))
    signals = wn.Signals(
        ids=ids,
        task="classification",
        labels=labels,
        classes=tuple("abcde"),
        epochs=(1, 2),
        arrays={"probabilities": rng.random((2, 2, n)).astype(np.float32)},
    )
    return Pool(n, 0.0, "classification", labels, tuple("abcde"), scores, "made", signals, ids=ids)


CASES = [
    ("random", {}),
    ("rank", {}),
    ("rank", {"policy": "easy"}),
    ("rank", {"policy": "window"}),
    ("rank", {"policy": "window", "skip": 0.1}),
    ("tilted", {}),
    ("tilted", {"uniform": 1.0}),
    ("strata", {}),
    ("strata", {"drop": 0.4, "bins": 7}),
    ("beta", {}),
    ("beta", {"uniform": 0.5, "anchors": 10, "epochs": 1}),
]


@pytest.mark.parametrize("kind", ["smooth", "few", "flat", "tail", "zeros", "by class"])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_rows_give_what_memory_gives(crowded, name, parameters, kind):
    method, whole = registry.get("selector", name), observed(700, kind)
    own = {key: value for key, value in {**method.parameters, **parameters}.items() if key != "seed"}
    for size, balance in ((70, 0.5), (350, 1.0), (200, 0.0), (620, 0.5)):
        pool = Pool(**{**vars(whole), "keep": size / whole.n})
        if balance:
            slow = combine(method.function, pool, size, balance, seed=3, parameters=own)
        else:
            slow = method.function(pool, size, seed=3, **own)
        chosen, about = choose_rows(method.rows, PoolRows(pool), size, balance, pool.classes, seed=3, parameters=own)
        assert np.flatnonzero(chosen).tolist() == sorted(slow.positions.tolist())
        assert about == pytest.approx(dict(slow.certificate)) if not balance else about == slow.certificate


def test_select_goes_row_by_row_above_its_size(monkeypatch):
    pool = observed(900, "few")
    scores = wn.Scores("made", pool.ids, pool.scores, task="classification", labels=pool.labels, classes=pool.classes)
    shuffle = np.random.default_rng(1).permutation(900)
    mixed = wn.Scores(
        "made",
        pool.ids[shuffle],
        pool.scores[shuffle],
        task="classification",
        labels=pool.labels[shuffle],
        classes=pool.classes,
    )
    before = [select(name, one, keep=0.2) for name in ("rank", "strata", "random") for one in (scores, mixed)]
    monkeypatch.setattr("winnow.selectors.select.MANY", 1)
    after = [select(name, one, keep=0.2) for name in ("rank", "strata", "random") for one in (scores, mixed)]
    for one, other in zip(before, after, strict=True):
        assert one.ids.tolist() == other.ids.tolist()
        assert one.certificate == other.certificate
        assert one.provenance == other.provenance


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", ["rank", "strata", "tilted", "random"])
def test_a_file_gives_what_memory_gives(crowded, tmp_path, name, text):
    pool = observed(800, "smooth")
    ids = np.array([f"id {one}" for one in pool.ids]) if text else pool.ids
    scores = wn.Scores("made", ids, pool.scores, task="classification", labels=pool.labels, classes=pool.classes)
    path = scores.save(tmp_path / "scores.parquet")
    for balance in (0.5, None):
        slow, fast = (select(name, one, keep=0.1, balance=balance, seed=2) for one in (scores, path))
        assert fast.ids.tolist() == slow.ids.tolist()
        assert fast.weights.tolist() == slow.weights.tolist()
        assert fast.certificate == slow.certificate
        assert fast.provenance["parameters"] == slow.provenance["parameters"]


@pytest.mark.parametrize("name", ["rank", "strata", "random"])
def test_files_of_parts_give_what_one_file_gives(crowded, tmp_path, name):
    pool = observed(800, "smooth")
    how = {"task": "classification", "classes": pool.classes}
    whole = wn.Scores("made", pool.ids, pool.scores, labels=pool.labels, **how).save(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for number, where in enumerate(np.array_split(np.random.default_rng(0).permutation(800), 3)):
        part = wn.Scores("made", pool.ids[where], pool.scores[where], labels=pool.labels[where], **how)
        part.save(tmp_path / "parts" / f"{number}.parquet")
    one, several = (select(name, path, keep=0.1, seed=2) for path in (whole, tmp_path / "parts"))
    assert np.array_equal(np.sort(one.ids), np.sort(several.ids))
    assert one.certificate == several.certificate
    assert one.provenance["inputs"]["scores"]["digest"] != several.provenance["inputs"]["scores"]["digest"]


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    with pytest.raises(InputError, match="must be parquet files; the folder holds none"):
        select("rank", tmp_path, size=1)
    wn.Scores("made", [1, 2], [0.1, 0.2]).save(tmp_path / "a.parquet")
    wn.Scores("other", [3], [0.3]).save(tmp_path / "b.parquet")
    with pytest.raises(
        InputError, match=r"name of the scores in .* must be the same in all files; b.parquet has 'other'"
    ):
        select("rank", tmp_path, size=1)
    wn.Scores("made", ["x"], [0.3]).save(tmp_path / "b.parquet")
    with pytest.raises(
        InputError, match=r"columns of the scores in .* those of b.parquet differ from those of a.parquet"
    ):
        select("rank", tmp_path, size=1)


def test_saved_scores_are_in_row_groups(tmp_path):
    rows = (1 << 20) + 5
    path = wn.Scores("made", np.arange(rows), np.zeros(rows)).save(tmp_path / "scores.parquet")
    assert pq.ParquetFile(path).num_row_groups == 2


def test_a_file_without_labels_has_no_quotas(tmp_path):
    path = wn.Scores("made", np.arange(50), np.arange(50.0)).save(tmp_path / "scores.parquet")
    assert select("rank", path, size=3).ids.tolist() == [47, 48, 49]
    with pytest.raises(NotDefinedError, match="needs class labels beside the scores"):
        select("rank", path, size=3, balance=0.5)


def test_what_needs_more_than_scores_says_so(tmp_path):
    pool = observed(50, "smooth")
    scores = wn.Scores("made", pool.ids, pool.scores, task="classification", labels=pool.labels, classes=pool.classes)
    path = scores.save(tmp_path / "scores.parquet")
    with pytest.raises(NotDefinedError, match="'beta' needs probabilities beside the scores"):
        select("beta", path, size=3)
    assert select("beta", path, size=9, signals=pool.signals).ids.tolist() == (
        select("beta", scores, size=9, signals=pool.signals).ids.tolist()
    )


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("score", [1.0, None], "no missing values"),
        ("score", [1.0, float("nan")], "must be finite"),
        ("score", ["1", "2"], "column 'score' of scores in"),
        ("label", [0, 9], "must be class numbers from 0 to 1; got 9"),
        ("id", [0.5, 1.5], "column 'id' of scores in"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, column, values, message):
    made = wn.Scores("made", [1, 2], [0.1, 0.2], task="classification", labels=np.array([0, 1]), classes=("a", "b"))
    table = pq.read_table(made.save(tmp_path / "scores.parquet"))
    table = table.set_column(table.column_names.index(column), column, pa.array(values))
    pq.write_table(table, tmp_path / "scores.parquet")
    with pytest.raises(InputError, match=message):
        select("rank", tmp_path / "scores.parquet", size=1)


def test_long_runs_of_equal_keys_are_divided_by_their_ties(monkeypatch):
    """Gathering stays small whatever the keys are: a million equal ones would not fit the border."""
    monkeypatch.setattr(row_quotas, "GATHERED", 500)
    pool = observed(60_000, "flat")
    gathered = SimpleNamespace(most=0)
    plain = np.lexsort

    def watched(keys):
        gathered.most = max(gathered.most, len(keys[0]))
        return plain(keys)

    monkeypatch.setattr(row_quotas.np, "lexsort", watched)
    method = registry.get("selector", "rank")
    chosen, _ = choose_rows(method.rows, PoolRows(pool), 6_000, 0.5, pool.classes, seed=0, parameters={})
    assert chosen.sum() == 6_000
    assert 0 < gathered.most <= 500


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("balance", [None, 0.5])
def test_beta_chooses_from_mapped_signals_what_it_chooses_in_memory(
    crowded, monkeypatch, tmp_path, shuffled: bool, balance: float | None
):
    rng, n = np.random.default_rng(0), 500
    ids = rng.permutation(3 * n)[:n] if shuffled else np.sort(rng.permutation(3 * n)[:n])
    np.save(tmp_path / "chances.npy", rng.random((2, 5, n), dtype=np.float32))
    mapped = np.load(tmp_path / "chances.npy", mmap_mode="r")
    about = ("classification", rng.integers(0, 3, n), ("a", "b", "c"), tuple(range(1, 6)), 5)
    kept = []
    for chances, many in ((np.array(mapped), 10**9), (mapped, 1)):
        monkeypatch.setattr("winnow.selectors.select.MANY", many)
        signals = wn.Signals(ids, {"probabilities": chances}, *about)
        kept.append(select("beta", wn.score("dual", signals), keep=0.2, balance=balance, signals=signals))
    assert kept[0].ids.tolist() == kept[1].ids.tolist()
    assert kept[0].certificate["class_counts"] == kept[1].certificate["class_counts"]
