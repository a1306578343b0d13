from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.pruning.test_prune import easy
from tests.signals.small import Counting, digits, rows
from winnow.artefacts.gallery import Gallery
from winnow.artefacts.ledger import costs_of, ledger
from winnow.artefacts.soft_labels import SoftLabels
from winnow.core.errors import StoreError, WinnowError
from winnow.core.files import read_json
from winnow.engines import Local
from winnow.pruning.proof import Proof, prune_with_proof
from winnow.pruning.tolerance_search import _with_labels
from winnow.signals.observe import observe_run

QUICK = wn.Recipe(epochs=3, batch=16)

ARMS = ["full", "everything@0.5", "random@0.5", "medoids@0.5", "soft everything@0.5", "soft random@0.5"]

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


def proof(source: wn.Source, keep: float | None = 0.5, **options: Any) -> Proof:
    usual = {"model": "mlp", "recipe": QUICK, "seeds": 2, "proof_seeds": 2, "engine": Local(workers=1)}
    return prune_with_proof(source, keep, **{**usual, **options})


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Proof]:
    run = tmp_path_factory.mktemp("proof") / "run"
    return run, proof(digits(100), out=run)


def test_a_run_holds_subset_study_gallery_and_report(proved: tuple[Path, Proof]) -> None:
    run, found = proved
    assert wn.Subset.load(run / "subset.parquet").ids.tolist() == found.subset.ids.tolist()
    study = wn.Study.load(run / "study")
    assert [arm.name for arm in study.arms] == ARMS
    assert study.table() == found.study.table() if found.study is not None else False
    assert Gallery.load(run / "gallery.json").score is None  # medoids cover; no score ranks the examples
    assert found.report == run / "report.html"
    page = found.report.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "medoids" in page
    assert found.name == "medoids@0.5"


def test_a_tolerance_that_nothing_holds_ends_with_a_report_that_claims_nothing(tmp_path: Path) -> None:
    found = proof(easy(60), None, tolerance=1e-6, method="random", out=tmp_path / "run")
    assert found.name == "all kept@1"
    assert found.why == "no smaller part was shown to stay within the tolerance"
    assert found.study is not None
    assert found.study.verdict(found.name).sentence == "Nothing was left out, so there is nothing to compare."
    (row,) = ledger(found.study)
    assert row["saved_per_training_s"] == 0  # the same training twice differs only by noise
    assert row["pays_after"] is None
    assert (tmp_path / "run" / "report.html").exists()


def test_what_is_held_out_is_in_no_subset(proved: tuple[Path, Proof]) -> None:
    _, found = proved
    source = digits(100)
    assert found.held_out == 20
    assert len(found.subset) == 40
    study = found.study
    assert study is not None
    assert {arm.name: arm.size for arm in study.arms} == dict(zip(ARMS, (80, 80, 40, 40, 80, 40), strict=True))
    assert study.tests == ("held out",)
    assert study.provenance["parameters"]["overlap"] == {"held out": 0}
    assert study.provenance["inputs"]["tests"]["held out"]["size"] == 20
    assert set(found.subset.ids) <= set(source.ids)


def test_selection_is_part_of_the_cost(proved: tuple[Path, Proof]) -> None:
    study = proved[1].study
    assert study is not None
    costs = study.arm("medoids@0.5").selection
    assert costs["observe"] > 0
    assert costs["select"] > 0
    assert costs["veto"] == 0  # 80 examples are too few to try anything on
    assert set(costs) == {"plan", "observe", "score", "select", "veto", "search"}


def test_random_with_soft_targets_pays_for_the_observation_that_made_them(proved: tuple[Path, Proof]) -> None:
    study = proved[1].study
    assert study is not None
    row = {row["arm"]: row for row in ledger(study)}
    assert row["soft random@0.5"]["observe_s"] == row["medoids@0.5"]["observe_s"] > 0
    assert row["soft random@0.5"]["selection_s"] < row["medoids@0.5"]["selection_s"]


def test_the_trainings_of_the_veto_are_part_of_the_cost(tmp_path: Path) -> None:
    run = tmp_path / "run"
    found = proof(rows(130), method="auto", veto=1, seeds=1, proof_seeds=1, out=run)
    kept = [read_json(path)["seconds"] for path in (run / "steps" / "veto").rglob("*.json")]
    assert found.study is not None
    assert len(kept) == 2
    assert found.study.arm(found.name).selection["veto"] == pytest.approx(sum(kept)) != 0
    assert costs_of(run / "subset.parquet", found.subset)["veto"] == pytest.approx(sum(kept))
    again = proof(rows(130), method="auto", veto=1, seeds=1, proof_seeds=1, out=run, engine=Counting(0))
    assert again.study is not None
    assert again.study.arm(found.name).selection["veto"] == pytest.approx(sum(kept))


def test_the_same_request_again_trains_nothing(proved: tuple[Path, Proof]) -> None:
    run, found = proved
    files = [*run.glob("signals/*"), *run.glob("study/trainings/*/*"), run / "subset.parquet"]
    before = [path.stat().st_mtime_ns for path in files]
    counting = Counting()
    again = proof(digits(100), out=run, engine=counting)
    assert counting.done == 0
    assert [path.stat().st_mtime_ns for path in files] == before
    assert len(files) == 2 + 6 * 2 + 1
    assert again.subset.ids.tolist() == found.subset.ids.tolist()
    assert again.study is not None
    assert found.study is not None
    assert again.study.table() == found.study.table()


@pytest.mark.parametrize(
    "change", [{"keep": 0.4}, {"seed": 1}, {"method": "forgetting"}, {"proof_seeds": 3}, {"balance": 0.0}]
)
def test_another_request_in_the_same_directory_is_refused(change: dict[str, Any], proved: tuple[Path, Proof]) -> None:
    counting = Counting()
    with pytest.raises(StoreError, match=f"other settings.*{next(iter(change))} was"):
        proof(digits(100), out=proved[0], engine=counting, **change)
    assert counting.done == 0


def test_the_test_set_has_no_say_in_the_subset(tmp_path: Path) -> None:
    source = digits(120)
    test = wn.open("digits", split="test")
    once: dict[str, Any] = {"veto": 1, "proof_seeds": 1}
    one = proof(source, test=test.at(np.arange(30)), out=tmp_path / "one", **once)
    two = proof(source, test={"late": test.at(np.arange(200, 260))}, out=tmp_path / "two", **once)
    alone = wn.prune(source, 0.5, model="mlp", recipe=QUICK, seeds=2, veto=1, engine=Local(workers=1))
    assert alone.certificate["veto"]["pairs"] == 1
    assert one.subset.ids.tolist() == two.subset.ids.tolist() == alone.ids.tolist()
    assert (tmp_path / "one/subset.parquet").read_bytes() == (tmp_path / "two/subset.parquet").read_bytes()
    assert one.held_out == 0


@pytest.mark.usefixtures("short_search")
def test_a_tolerance_leaves_the_test_set_alone_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"tolerance": 0.3, "recipe": wn.Recipe(epochs=4, batch=16, lr=0.01), "proof_seeds": 1}
    source, tests = easy(90), easy(150)
    one = proof(source, None, test=tests.at(np.arange(90, 120)), out=tmp_path / "one", **options)
    proof(source, None, test=tests.at(np.arange(120, 150)), out=tmp_path / "two", **options)
    assert one.subset.certificate["holds"] is True
    assert (tmp_path / "one/subset.parquet").read_bytes() == (tmp_path / "two/subset.parquet").read_bytes()
    study = one.study
    assert study is not None
    assert study.arm(one.name).selection["search"] > 0
    assert {"soft random", "soft everything"} <= {arm.name.split("@")[0] for arm in study.arms}


def test_what_a_search_held_out_has_its_labels_as_soft_targets() -> None:
    whole = easy(60)
    seen = whole.at(np.arange(40))
    soft = SoftLabels(seen.ids, np.full((40, 3), [0.5, 0.25, 0.25]), seen.classes, weight=0.7)
    made = _with_labels(soft, whole)
    assert made.weight == 0.7
    assert made.at(seen.ids).tolist() == [[0.5, 0.25, 0.25]] * 40
    assert made.at(whole.ids[40:]).argmax(1).tolist() == np.asarray(whole.labels)[40:].tolist()
    assert made.at(whole.ids[40:]).max(1).tolist() == [1.0] * 20
    assert _with_labels(soft, seen) is soft


def test_regression_is_proved_by_r2(tmp_path: Path) -> None:
    found = proof(rows(80, "regression"), out=tmp_path / "run")
    assert found.study is not None
    assert found.study.metric == "r2"
    assert found.report is not None
    assert found.report.exists()


def test_without_labels_there_is_a_report_and_no_study(tmp_path: Path) -> None:
    found = proof(rows(40, "unlabelled"), model="auto", out=tmp_path / "run")
    assert found.study is None
    assert found.held_out == 0
    assert len(found.subset) == 20
    assert found.report is not None
    assert found.report.exists()
    assert not (tmp_path / "run" / "study").exists()


def test_random_can_be_proved_against_random(tmp_path: Path) -> None:
    found = proof(digits(60), method="random", proof_seeds=1, out=tmp_path / "run")
    assert found.name == "one draw@0.5"
    assert found.study is not None
    assert found.study.arm(found.name).baseline == "random@0.5"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": 3}, "test of prune must be"),
        ({"test": rows(20)}, "must be that of the training data"),
        ({"proof_seeds": 0}, "proof_seeds of prune"),
        ({"match_iterations": 2}, "match_iterations of prune"),
        ({"tolerance": 0.1}, "exactly one of keep="),
    ],
)
def test_bad_requests_are_refused_before_anything_is_trained(options: dict[str, Any], words: str) -> None:
    counting = Counting()
    with pytest.raises(WinnowError, match=words):
        proof(digits(60), engine=counting, **options)
    assert counting.done == 0


def test_observe_run_keeps_everything_in_one_file(tmp_path: Path) -> None:
    seen = observe_run(digits(60), tmp_path / "run", model="mlp", recipe=QUICK, seeds=2, engine=Local(workers=1))
    loaded = wn.Signals.load(tmp_path / "run" / "signals.safetensors")
    assert loaded.fingerprint == seen.fingerprint
    counting = Counting()
    more = observe_run(digits(60), tmp_path / "run", model="mlp", recipe=QUICK, seeds=3, engine=counting)
    assert counting.done == 1
    assert more.losses.shape[0] == 3
    assert more.losses[:2].tobytes() == seen.losses.tobytes()
