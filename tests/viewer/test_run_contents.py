"""Every kind of run opens, says what it holds, and answers every question of the page."""

from __future__ import annotations

import json
import uuid

import fsspec
import numpy as np
import pytest

import winnow as wn
from winnow.core.remote import released
from winnow.viewer.run_contents import CHOSEN, read_contents

KINDS = ("prune", "proof", "check", "observe", "evaluate", "explain", "plan", "medoids")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_answers_every_question(runs, own, asked, kind):
    answers = asked(own(kind))
    about = answers.about()
    assert about["n"] == len(answers.source)
    for key in about["sorts"]:
        page = answers.rows({"filter": json.dumps({"sort": key, "descending": True}), "count": "7"})
        assert page["total"] == about["n"]
        assert len(page["rows"]) == 7
    for name in ("class", *about["members"], *(score["name"] for score in about["scores"])):
        by = f"member:{name}" if name in about["members"] else name
        assert len(answers.colours(by)[0]) == 2 * about["n"]
    assert answers.example({"row": "3"})["id"] == str(answers.source.ids[3])
    json.dumps(answers.panel())
    assert answers.panel()["command"] == about["command"]


def test_a_pruned_run_has_its_subset_order_and_scores(runs):
    held = read_contents(runs["prune"])
    assert held.command == "prune"
    assert list(held.subsets) == [CHOSEN]
    assert held.order is not None
    assert [one.name for one in held.scores] == ["el2n"]
    assert held.signals


def test_a_checked_run_has_issues_and_a_clean_subset(runs, own, asked):
    answers = asked(own("check"))
    about = answers.about()
    assert about["issues"]["label"] >= 1
    assert about["members"]["clean subset"] < about["n"]
    assert about["predicted"]
    first = answers.rows({"filter": json.dumps({"sort": "issue", "descending": True})})["rows"][0]
    assert first["issues"]
    assert not answers.recomputation.possible  # networks of folds are no signals to select from


def test_a_proved_run_has_a_study_and_what_was_not_in_it(runs, own, asked):
    answers = asked(own("proof"))
    panel = answers.panel()
    assert {"study", "ledger"} <= {one["name"] for one in panel["figures"]}
    assert panel["study"]
    assert panel["verdicts"]
    assert answers.about()["observed"] < answers.about()["n"]
    part = answers.rows({"filter": json.dumps({"split": "other"})})
    assert part["total"] == answers.about()["n"] - answers.about()["observed"]


def test_an_explained_run_says_what_is_learned_together(own, asked, digits, runs):
    answers = asked(own("explain"))
    ids = [str(one.id) for all_of in answers.run.explanations for one in all_of.standings]
    row = answers.table.row_of_id(ids[0])
    relations = answers.example({"row": str(row)})["relations"]
    assert relations["together"] or relations["against"]
    assert not answers.recomputation.possible


def test_a_plan_forecasts_between_its_fractions(own, asked):
    answers = asked(own("plan"), wn.open("digits", limit=600))
    choice = json.dumps({"method": "random", "keep": 0.37})
    found = answers.compared({"a": choice, "b": choice})["forecast"]
    assert found["kind"] == "forecast"
    assert found["low"] <= found["value"] <= found["high"]
    rows = sorted(
        (one for one in answers.run.plan.forecasts if one.policy == found["policy"]), key=lambda one: one.keep
    )
    share = round(0.37 * len(answers.source)) / len(answers.source)
    assert found["value"] == pytest.approx(np.interp(share, [r.keep for r in rows], [r.accuracy for r in rows]))


def test_what_is_no_run_is_refused(tmp_path, own):
    with pytest.raises(wn.errors.NotFoundError, match="there is none at"):
        read_contents(tmp_path / "nowhere")
    with pytest.raises(wn.errors.NotFoundError, match=r"holds no run\.json"):
        read_contents(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": 2, "settings": {"command": "prune"}}))
    with pytest.raises(wn.errors.StoreError, match="not finished"):
        read_contents(tmp_path)


def test_a_damaged_subset_is_noticed(own):
    run = own("prune")
    whole = (run / "subset.parquet").read_bytes()
    (run / "subset.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(wn.errors.StoreError, match=r"subset\.parquet"):
        read_contents(run)


def test_other_data_are_refused(own, asked, digits):
    with pytest.raises(wn.errors.InputError, match="the data lack"):
        asked(own("prune"), digits.at(np.arange(20)))
    numbers = wn.open((np.zeros((50, 3)), np.arange(50) % 2))
    with pytest.raises(wn.errors.InputError, match="the data lack"):
        asked(own("medoids"), numbers)


def test_data_in_memory_must_be_given(own):
    with pytest.raises(wn.errors.InputError, match="give them with --data"):
        wn.view(own("prune"))


def test_changed_labels_are_said(own, asked, digits):
    labels = np.array(digits.labels)
    labels[:5] = (labels[:5] + 1) % 10
    other = digits.with_labels(labels, digits.task, digits.classes)
    assert asked(own("prune")).changed == ""
    assert asked(own("observe"), other).changed.startswith("5 labels are not those")


def test_a_run_at_a_url_is_shown_and_its_marks_go_there(runs, asked, digits, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = f"memory://{uuid.uuid4().hex}/run"
    system = fsspec.filesystem("memory")
    system.put(str(runs["check"]), url.removeprefix("memory:/"), recursive=True)
    with wn.view(url, digits) as viewer:
        answers = viewer._server.answers
        assert answers.about()["folder"] == "run"
        answers.marks.mark([4], {"choice": "drop"})
        assert system.exists(f"{url}/marks.parquet")
        assert system.exists(f"{url}/map/pca.safetensors")
    with wn.view(url, digits) as viewer:  # fetched again
        assert viewer._server.answers.marks.of(4).choice == "drop"
    nothing = f"memory://{uuid.uuid4().hex}/none"
    with pytest.raises(wn.errors.NotFoundError, match=r"holds no run\.json"):
        wn.view(nothing, digits)
    released(tmp_path)
