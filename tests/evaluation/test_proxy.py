"""proxy: known rankings from made-up studies, the same answer in any order, resuming, refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from torch import nn

import winnow as wn
from tests.evaluation.blobs import QUICK, blobs, shuffled
from winnow.artefacts import Outcome, Source, Study, Subset
from winnow.artefacts.study import Arm
from winnow.core.errors import DivergedError, WinnowError
from winnow.core.rank_correlation import rank_correlation
from winnow.engines import Local
from winnow.evaluation.proxy import ProxyStudy, _halves, proxy

NETWORKS = ("mlp:hidden=[]", "mlp:hidden=[2]", "mlp:hidden=[8]", "mlp:hidden=[8,8]")
SOURCE, TEST = blobs(120), blobs(80, seed=5, prefix="t")
SUBSET = Subset(SOURCE.ids[:40])
ARMS = (
    Arm("full", "full", 100, 1.0),
    Arm("random@0.1", "random", 10, 0.1),
    Arm("mine", "subset", 10, 0.1, "random@0.1", None, {"observe": 5.0, "select": 2.0}),
)
Table = Mapping[str, Sequence[Sequence[float]]]


def made(choose: Table, judge: Table, seconds: float = 1.0) -> ProxyStudy:
    """A study from accuracies by arm, seed and network."""
    arms = tuple(arm for arm in ARMS if arm.name in choose)
    count, networks = len(choose["full"]), len(choose["full"][0])

    def one(network: int) -> Study:
        outcomes = tuple(
            Outcome(arm.name, seed, test, values[arm.name][seed][network], 0.0, (), 1, seconds * arm.size / 100)
            for arm in arms
            for seed in range(count)
            for test, values in (("choose", choose), ("judge", judge))
        )
        return Study("accuracy", arms, outcomes, ("choose", "judge"))

    return ProxyStudy({f"net{i}": one(i) for i in range(networks)})


FULL = [[0.5, 0.6, 0.7, 0.8], [0.8, 0.6, 0.7, 0.5]]
RANDOM = [[0.4, 0.3, 0.2, 0.1], [0.4, 0.2, 0.3, 0.1]]
MINE = [[0.1, 0.2, 0.4, 0.3], [0.4, 0.2, 0.3, 0.1]]
KNOWN = {"full": FULL, "random@0.1": RANDOM, "mine": MINE}
JUDGED = {**KNOWN, "full": [[0.51, 0.61, 0.71, 0.81], [0.81, 0.61, 0.71, 0.51]]}


def asked(**options: Any) -> ProxyStudy:
    usual: dict[str, Any] = {
        "test": TEST,
        "networks": NETWORKS,
        "recipe": QUICK,
        "seeds": 2,
        "engine": Local(workers=1),
    }
    source, subsets = options.pop("source", SOURCE), options.pop("subsets", {"mine": SUBSET})
    return proxy(source, subsets, **{**usual, **options})


def accuracies(study: ProxyStudy) -> list[Any]:
    return [study.accuracies(arm.name, test) for arm in study.arms for test in ("choose", "judge")]


def test_correlation_and_regret_of_known_rankings() -> None:
    study = made(KNOWN, JUDGED)
    assert study.correlations("mine") == pytest.approx({0: 0.8, 1: 1.0})
    assert study.correlations("random@0.1") == pytest.approx({0: -1.0, 1: 1.0})
    assert study.regrets("mine") == pytest.approx({0: 0.1, 1: 0.0})
    assert study.regrets("random@0.1") == pytest.approx({0: 0.3, 1: 0.0})
    gap = study.versus("mine", "random@0.1")
    half = stats.t.ppf(0.975, 1) * np.std([1.8, 0.0], ddof=1) / math.sqrt(2)
    assert (gap.centre, gap.high - gap.centre) == (pytest.approx(0.9), pytest.approx(half))
    assert study.versus("mine", "random@0.1", "regret").centre == pytest.approx(-0.1)


def test_the_ceiling_is_the_full_data_under_other_seeds() -> None:
    study = made(KNOWN, JUDGED)
    assert study.correlations("full") == pytest.approx({0: -0.8, 1: -0.8})
    assert study.regrets("full") == pytest.approx({0: 0.3, 1: 0.3})
    alone = made({arm: values[:1] for arm, values in KNOWN.items()}, {a: v[:1] for a, v in JUDGED.items()})
    assert math.isnan(alone.correlations("full")[0])
    assert alone.correlations("mine") == pytest.approx({0: 0.8})


def test_the_winner_is_chosen_on_one_half_and_judged_on_the_other() -> None:
    # On `choose` the full data prefers the third network, which `judge` shows to be the worst.
    judged = {**KNOWN, "full": [[0.9, 0.8, 0.1, 0.7]]}
    study = made({"full": [[0.5, 0.6, 0.9, 0.7]], "mine": [[0.9, 0.1, 0.2, 0.3]]}, judged)
    assert study.regrets("mine")[0] == pytest.approx(0.1 - 0.9)
    assert study.correlations("mine")[0] == pytest.approx(0.4)  # `judge` ranks 4 3 1 2, the proxy 4 1 2 3


def test_ties_are_averaged_and_no_ranking_counts_nothing() -> None:
    flat = {"full": [[0.5, 0.6, 0.7]], "mine": [[0.3, 0.3, 0.3]]}
    study = made(flat, flat)
    assert study.correlations("mine") == {0: 0.0}
    assert study.regrets("mine")[0] == pytest.approx(0.7 - 0.6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 5, (2, 12)).astype(float)
        assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)


def test_among_the_top_only_what_the_search_ranks_first_counts() -> None:
    values = {"full": [[0.1, 0.5, 0.4, 0.3]], "mine": [[0.1, 0.2, 0.3, 0.4]]}
    study = made(values, values)
    assert study.correlations("mine", top=3)[0] == pytest.approx(-1.0)
    assert study.correlations("mine", top=4)[0] == study.correlations("mine")[0] == pytest.approx(0.2)
    with pytest.raises(WinnowError, match="top of correlations must be a whole number from 3 to 4; got 5"):
        study.correlations("mine", top=5)


def test_the_table_counts_finding_the_proxy_once() -> None:
    study = made(KNOWN, JUDGED, seconds=10.0)
    full, random, mine = study.table()
    assert (mine["train_s"], mine["selection_s"], mine["search_s"]) == pytest.approx((4.0, 7.0, 11.0))
    assert (random["search_s"], full["search_s"], mine["full_search_s"]) == pytest.approx((4.0, 40.0, 40.0))
    assert mine["correlation"] == pytest.approx(0.9)
    assert mine["correlation_vs_random"] == pytest.approx(0.9)
    assert math.isnan(full["correlation_vs_random"])
    assert [row["searched on"] for row in study.summary()] == ["full, another seed", "random@0.1", "mine"]
    assert "30.00 ± 0.00" in str(study.summary())


def test_transfer_is_what_each_network_gains_on_random() -> None:
    rows = made(KNOWN, JUDGED).transfer()
    assert [(row["network"], row["arm"]) for row in rows] == [(f"net{i}", "mine") for i in range(4)]
    gains = (np.array(MINE) - np.array(RANDOM)).mean(0)
    assert [row["vs_random"] for row in rows] == pytest.approx(gains.tolist())
    assert rows[0]["accuracy"] == pytest.approx(0.25)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    study = made(KNOWN, JUDGED)
    again = ProxyStudy.load(study.save(tmp_path / "there"))
    assert again.networks == study.networks
    assert str(again.table()) == str(study.table())
    about = json.loads((tmp_path / "there" / "proxy.json").read_text())
    assert about["table"][2]["correlation"] == pytest.approx(0.9)
    assert about["table"][0]["correlation_vs_random"] is None
    (tmp_path / "there" / "proxy.json").write_text("{}")
    with pytest.raises(WinnowError, match=r"expected 'proxy' in .*proxy\.json; found nothing"):
        ProxyStudy.load(tmp_path / "there")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProxyStudy, Path]:
    folder = tmp_path_factory.mktemp("search") / "run"
    return asked(out=folder, costs={"mine": {"select": 3.0}}), folder


def test_every_network_is_trained_on_everything_as_evaluate_does(searched: tuple[ProxyStudy, Path]) -> None:
    study, _ = searched
    assert study.networks == NETWORKS
    assert [arm.name for arm in study.arms] == ["full", "random@0.333", "mine"]
    tests = study.provenance["inputs"]["tests"]
    assert {name: (about["origin"]["hold_out"]["part"], about["size"]) for name, about in tests.items()} == {
        "choose": ("choose", 40),
        "judge": ("judge", 40),
    }
    one = wn.evaluate(
        SOURCE, {"mine": SUBSET}, test=TEST, model=NETWORKS[2], recipe=QUICK, seeds=2, engine=Local(workers=1)
    )
    for seed, outcome in one.of("mine").items():  # the halves are equal, so their mean is the whole
        both = [study.accuracies("mine", half)[seed][2] for half in ("choose", "judge")]
        assert np.mean(both) == pytest.approx(outcome.value)
    assert study.selection("mine") == 3.0


def test_a_search_goes_on_where_it_stopped(searched: tuple[ProxyStudy, Path]) -> None:
    study, folder = searched
    times = {path: path.stat().st_mtime_ns for path in folder.glob("networks/*/study/trainings/*/*.json")}
    assert len(times) == 4 * 3 * 2
    lost = next(path for path in times if path.parent.name == "full")
    lost.unlink()  # as if killed before it was recorded
    (lost.parents[3] / "steps" / lost.relative_to(lost.parents[3])).unlink()
    del times[lost]
    more = asked(out=folder, networks=[*NETWORKS, "mlp:hidden=[4]"], costs={"mine": {"select": 3.0}})
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    assert more.networks == (*NETWORKS, "mlp:hidden=[4]")
    for ours, theirs in zip(accuracies(study), accuracies(more), strict=True):
        for seed, values in ours.items():
            np.testing.assert_array_equal(values, theirs[seed][:4])
    assert ProxyStudy.load(folder / "proxy").networks == more.networks


def test_order_changes_nothing(searched: tuple[ProxyStudy, Path]) -> None:
    again = asked(source=shuffled(SOURCE), test=shuffled(TEST), networks=NETWORKS[::-1])
    for ours, theirs in zip(accuracies(searched[0]), accuracies(again), strict=True):
        for seed, values in ours.items():
            np.testing.assert_array_equal(values, theirs[seed][::-1])
    assert searched[0].correlations("mine") == pytest.approx(again.correlations("mine"))
    assert searched[0].regrets("mine") == pytest.approx(again.regrets("mine"))


def test_two_test_sets_may_be_given_and_models_of_any_kind() -> None:
    from sklearn.linear_model import LogisticRegression

    judge = blobs(60, seed=6, prefix="j")
    space = {f"C = {c}": LogisticRegression(C=c) for c in (0.01, 0.1, 1.0)}
    study = asked(test={"judge": judge, "choose": TEST}, networks=space, recipe=None, seeds=1, random=False)
    assert study.networks == tuple(space)
    assert math.isnan(study.table()[1]["correlation_vs_random"])
    assert math.isnan(study.transfer()[0]["vs_random"])
    assert math.isnan(study.selection("mine"))


def mapping(**sources: Source) -> Callable[[], object]:
    return lambda: asked(test=sources)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: asked(networks=["mlp", "mlp:hidden=[2]"]), "networks of proxy must be at least 3.*; got 2"),
        (lambda: asked(networks=["mlp", "mlp", "convnet"]), "networks of proxy must be names that differ"),
        (lambda: asked(networks="mlp"), "networks of proxy must be a sequence of names or a mapping; got str"),
        (lambda: asked(networks=[*NETWORKS, "lenet7"]), "lenet7"),
        (lambda: asked(networks={"": "mlp", "b": "mlp", "c": "mlp"}), "names of the networks of proxy must be words"),
        (lambda: asked(networks=None), "shape of network 'smallconv'"),
        (lambda: asked(subsets={}), "subsets of proxy must be a mapping"),
        (lambda: asked(subsets={"mine": 3}), "must be a Subset, or one a seed; got int"),
        (lambda: asked(seeds=0), "seeds of proxy"),
        (lambda: asked(match_iterations=2), "match_iterations of proxy"),
        (lambda: asked(recipe="short"), "recipe of proxy must be a Recipe"),
        (lambda: asked(seed=-1), "seed of proxy"),
        (lambda: asked(test=None), "test of proxy must be a Source, anything that wn.open takes"),
        (lambda: asked(source=12), "source of proxy must be"),
        (mapping(choose=TEST), "test of proxy must be a Source, or 'choose' and 'judge'; got choose"),
        (mapping(choose=TEST, judge=TEST), "must be different data; both are the same"),
        (mapping(choose=TEST, judge=TEST.at(np.arange(7))), "must share no example, .*; they share 7"),
        (lambda: asked(costs=3), "costs of proxy must map"),
        (lambda: asked(test=TEST.at(np.array([0]))), "too few examples"),
        (lambda: ProxyStudy({}), "a proxy study needs at least 3 networks to rank; got 0"),
        (lambda: made(KNOWN, JUDGED).accuracies("ours"), "the study has no arm 'ours'"),
        (lambda: made(KNOWN, JUDGED).accuracies("mine", "test"), "test of accuracies"),
        (lambda: made(KNOWN, JUDGED).versus("mine", "full", "time"), "what of versus"),
    ],
)
def test_refusals(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(WinnowError, match=words):
        ask()


def test_halves_share_nothing_and_have_as_many_of_each_class() -> None:
    source, test = SOURCE, shuffled(blobs(90, seed=7, prefix="h"))
    halves = _halves(source, test)
    first, second = halves["choose"], halves["judge"]
    assert set(first.ids) | set(second.ids) == set(test.ids)
    assert not set(first.ids) & set(second.ids)
    counts = [np.bincount(half.labels, minlength=len(test.classes)) for half in (first, second)]
    assert np.abs(counts[0] - counts[1]).max() <= 1


def test_a_network_that_diverges_is_named() -> None:
    def broken() -> nn.Module:
        model = nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(SOURCE.shape)), len(SOURCE.classes)))
        nn.init.constant_(model[1].weight, math.nan)
        return model

    with pytest.raises(DivergedError, match=r"^network 'bad' of proxy, arm 'full', seed 0: training diverged"):
        asked(networks={"a": "mlp:hidden=[]", "bad": broken, "b": "mlp:hidden=[2]"}, seeds=1)


def test_what_an_estimator_cannot_take_is_refused_before_any_training(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    space = {"a": "mlp:hidden=[]", "b": "mlp:hidden=[2]", "c": LogisticRegression()}
    with pytest.raises(WinnowError, match="recipe"):
        asked(networks=space, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_metric_that_is_no_number_is_refused() -> None:
    broken = {**JUDGED, "mine": [[0.1, math.nan, 0.4, 0.3], MINE[1]]}
    with pytest.raises(WinnowError, match="the study of network 'net1' has no number for arm 'mine' under seed 0"):
        made(KNOWN, broken)


def test_studies_that_do_not_match_are_refused() -> None:
    good = made(KNOWN, JUDGED)
    fewer = made({a: v[:1] for a, v in KNOWN.items()}, {a: v[:1] for a, v in JUDGED.items()})
    with pytest.raises(WinnowError, match="'odd' has other arms or seeds"):
        ProxyStudy({**good.studies, "odd": fewer.studies["net0"]})
    other = Study("accuracy", ARMS, (), ("test",))
    with pytest.raises(WinnowError, match=r"'odd' must have the full data .*; it has test"):
        ProxyStudy({**good.studies, "odd": other})
