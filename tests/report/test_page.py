from __future__ import annotations

import dataclasses
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from winnow.artefacts import Scores, Subset, record
from winnow.core.errors import InputError, NotFoundError, StoreError
from winnow.report import write_run_report, write_study_report
from winnow.report.html_report import render
from winnow.report.saved_run import SavedRun
from winnow.report.snippets import loading, opening, origin_of

SECTIONS = ("results", "classes", "scores", "examples", "ledger", "loading", "certificate", "provenance")


class Page(HTMLParser):
    """The tags, attributes and visible text of a page; refuses tags that are not closed in order."""

    EMPTY = frozenset({"meta", "img", "br", "path", "use"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.said = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def sections(self):
        return [value for tag, name, value in self.attributes if tag == "section" and name == "id"]

    @property
    def text(self):
        return " ".join("".join(self.said).replace("\xa0", " ").split())


def page_of(run):
    return Page(write_run_report(run).read_text())


def test_a_whole_run_has_every_section(make_run):
    page = page_of(make_run())
    assert sorted(page.sections) == sorted(SECTIONS)
    for link in [value for tag, name, value in page.attributes if tag == "a" and name == "href"]:
        assert link.removeprefix("#") in page.sections
    assert page.tags.count("img") == 4 * 12
    assert page.tags.count("svg") == 5  # the brand, accuracy, classes, one histogram, the ledger
    for words in (
        "2.0 points better than random",
        "Rank correlation between two halves of the seeds: 0.83, reliable",
        "pays off after 2 trainings",
        "Hardest",
        "Dropped (sample)",
        "kept hardest",
    ):
        assert words in page.text


def test_nothing_is_fetched_from_anywhere(make_run):
    text = write_run_report(make_run()).read_text()
    bare = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?:|//[a-z]|@import|@font-face|<link|<iframe|<object", bare)
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)\)", text))
    page = Page(text)
    for tag, name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action", "srcset"):
            assert value.startswith("#") or (tag == "img" and value.startswith("data:image/png;base64,"))
        assert not name.startswith("on")
    assert page.tags.count("script") == 1


def test_the_policy_allows_the_one_script_and_no_other(make_run):
    import base64
    import hashlib

    text = write_run_report(make_run()).read_text()
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(value for tag, name, value in Page(text).attributes if tag == "meta" and "default-src" in value)
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_ids_in_the_page_are_unique(make_run, make_study):
    page = page_of(make_run(make_study(tests=("test", "shifted"), keeps=(0.2, 0.4))))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids) > 8


def test_the_same_run_gives_the_same_bytes(make_run, tmp_path):
    run = make_run()
    first = write_run_report(run).read_bytes()
    assert write_run_report(run, tmp_path / "again.html").read_bytes() == first
    assert len(first) < 400_000


@pytest.mark.parametrize(
    ("remove", "gone"),
    [
        ("gallery.json", {"examples"}),
        ("scores", {"scores"}),
        ("subset.parquet", {"loading"}),
        ("steps", set()),
        ("run.json", set()),
    ],
)
def test_what_a_run_lacks_is_left_out(make_run, remove, gone):
    run = make_run()
    target = run / remove
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    assert set(page_of(run).sections) == set(SECTIONS) - gone


def test_a_study_alone(make_study, tmp_path):
    path = make_study().report(tmp_path / "sub" / "report.html")
    page = Page(path.read_text())
    assert page.sections == ["results", "classes", "ledger", "certificate", "provenance"]
    assert "img" not in page.tags


@pytest.mark.parametrize("change", [{"arms": "full"}, {"arms": "random"}])
def test_a_study_without_full_or_without_random(make_study, tmp_path, change):
    study = make_study()
    arms = tuple(arm for arm in study.arms if arm.kind != change["arms"])
    if change["arms"] == "random":
        arms = tuple(dataclasses.replace(arm, baseline=None) for arm in arms)
    names = {arm.name for arm in arms}
    study = dataclasses.replace(study, arms=arms, outcomes=tuple(o for o in study.outcomes if o.arm in names))
    page = Page(write_study_report(study, tmp_path / "r.html").read_text())
    assert (
        "no model was trained on the full data"
        if change["arms"] == "full"
        else "no model was trained on a random subset of the same size"
    ) in page.text
    assert "nan" not in page.text.lower().replace("provenance", "")


def test_arms_that_were_not_run_yet(make_study, tmp_path):
    study = make_study(keeps=(0.2, 0.4))
    study = dataclasses.replace(study, outcomes=tuple(o for o in study.outcomes if "0.2" not in o.arm))
    page = Page(write_study_report(study, tmp_path / "r.html").read_text())
    assert "Trained on 400 of 1,000" in page.text
    nothing = dataclasses.replace(study, outcomes=())
    assert "No model was trained on a subset" in Page(write_study_report(nothing, tmp_path / "n.html").read_text()).text


def test_several_test_sets_are_all_shown_and_the_claim_is_on_the_first(make_study, tmp_path):
    study = make_study(tests=("test", "shifted <b>"))
    page = Page(write_study_report(study, tmp_path / "r.html").read_text())
    assert "Test set: test (used in the headline)" in page.text
    assert "Test set: shifted <b>" in page.text
    assert "reaches 92.0 ± " in page.text
    assert "82.0 %" in page.text


def test_regression(make_run, make_study, make_source):
    source = make_source("table", task="regression", columns=tuple(f"<i>{k}</i>" for k in range(15)))
    page = page_of(make_run(make_study(metric="r2", classes=()), source))
    assert "classes" not in page.sections
    assert "R\N{SUPERSCRIPT TWO}: 0.030 below the full data" in page.text
    assert "<i>11</i>" in page.text
    assert "i" not in page.tags
    assert "3 more columns are not shown" in page.text


def test_unlabelled_tensors(make_run, make_study, make_source):
    page = page_of(make_run(make_study(classes=()), make_source("tensor", task="unlabelled")))
    assert "shape 3 x 4 x 5" in page.text
    assert "model.fit(X)" in page.text


def test_a_subset_that_was_never_retrained(make_run, make_source):
    run = make_run(source=make_source("tensor", task="unlabelled"))
    shutil.rmtree(run / "study")
    page = page_of(run)
    assert page.sections == ["scores", "examples", "loading", "certificate", "provenance"]
    assert "Kept 400 of 1,000 examples (40 %). No model was retrained on them, because there are no labels" in page.text
    assert "model.fit(X)" in page.text


def test_the_code_opens_the_source_that_is_in_the_provenance(make_source):
    source = dataclasses.replace(
        make_source(),
        name="sales:train",
        origin={"adapter": "csv", "path": "a/sales.csv", "labels": "price", "size": 32},
    )
    deep = record(
        "select",
        {},
        {"scores": record("score", {}, {"signals": record("observe", {}, {"source": source.provenance})})},
    )
    assert opening(origin_of(deep)) == "'a/sales.csv', labels='price', size=32"
    assert opening({"name": "digits:test", "origin": {"builtin": "digits", "split": "test"}}) == (
        "'digits', split='test'"
    )
    old = {"adapter": "digits", "split": "test", "ids": "content"}  # as winnow 0.1 wrote it
    assert opening({"name": "digits:test", "origin": old}) == "'digits', split='test'"
    assert opening({"name": "mnist", "origin": {"adapter": "idx", "path": "data/mnist"}}) == "'data/mnist'"
    assert opening({"name": "arrays", "origin": {"adapter": "arrays", "labels": True}}) == ""
    assert opening(origin_of({"step": "select", "inputs": {"x": "0af3"}})) == ""


def test_time_spent_searching_is_shown_where_it_was_spent(make_study, tmp_path):
    study = make_study(selection={"observe": 8.0, "score": 0.5, "select": 0.5, "search": 20.0})
    assert "searching" in Page(write_study_report(study, tmp_path / "s.html").read_text()).text
    assert "searching" not in Page(write_study_report(make_study(), tmp_path / "n.html").read_text()).text


def test_hostile_text_from_the_data_is_only_text(make_run, make_study, make_source):
    bad = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    classes = (bad, "{{ 7*7 }}", "</style></title>", "'; alert(3) //")
    source = dataclasses.replace(make_source(classes=classes, prefix=bad), name=bad)
    study = make_study(classes=classes, tests=(bad,), methods=(bad,), noise=0.002)
    study = dataclasses.replace(study, provenance={bad: bad})
    run = make_run(study, source, score="el2n")
    page = page_of(run)
    assert page.tags.count("script") == 1
    assert page.tags.count("img") == 48
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert bad in page.text
    assert "{{ 7*7 }}" in page.text


@pytest.mark.parametrize(
    ("arguments", "chip"),
    [
        ({}, "better than random"),
        ({"ours": 0.85}, "worse than random"),
        ({"ours": 0.9002, "noise": 0.01}, "not significantly better than random"),
        ({"seeds": 1}, "one seed: no claim"),
    ],
)
def test_the_verdict_is_shown(make_study, tmp_path, arguments, chip):
    text = write_study_report(make_study(**arguments), tmp_path / "r.html").read_text()
    assert re.search(r'class="chip [a-z-]+">([^<]+)<', text).group(1) == chip


def test_colour_only_where_the_interval_leaves_out_zero(make_study, tmp_path):
    tie = write_study_report(make_study(ours=0.9002, noise=0.01), tmp_path / "t.html").read_text()
    assert '<td class="tie">' in tie
    assert '<td class="better">' not in tie
    assert '<td class="better">' in write_study_report(make_study(), tmp_path / "w.html").read_text()


def test_many_subsets_speak_of_chance_and_of_the_runs_own(make_run, make_study, tmp_path):
    study = make_study(keeps=(0.2, 0.4, 0.6), methods=("a", "b"))
    page = Page(write_study_report(study, tmp_path / "r.html").read_text())
    assert "Of 6 subsets" in page.text
    assert "one interval in twenty excludes zero by chance" in page.text
    one = make_study(keeps=(0.2, 0.4))
    assert "Trained on 400 of 1,000" in page_of(make_run(one)).text


def test_several_scores_are_drawn_and_the_rest_named(make_run):
    run = make_run()
    scores = Scores.load(run / "scores" / "el2n.parquet")
    for name in "abcdefgh":
        dataclasses.replace(scores, name=name).save(run / "scores" / f"{name}.parquet")
    page = page_of(run)
    assert "el2n (shown in the galleries)" in page.text
    assert "Other scores, not shown: f, g, h." in page.text


def test_counts_come_from_scores_where_there_is_no_gallery(make_run):
    run = make_run()
    (run / "gallery.json").unlink()
    assert "of 250" in page_of(run).text


def test_the_code_to_load_a_subset_runs(make_source, tmp_path, monkeypatch):
    import winnow

    source = make_source("table", n=40)
    subset = Subset(source.ids[:10], weights=np.arange(1.0, 11.0))
    path = subset.save(tmp_path / "it's.parquet")
    opened = []
    monkeypatch.setitem(vars(winnow), "open", lambda what: opened.append(what) or source)

    class Model:
        def fit(self, inputs, target, sample_weight):
            assert inputs.shape == (10, 15)
            assert np.array_equal(target, source.labels[subset.indices(source)])
            assert np.array_equal(sample_weight, subset.weights)

    class Dataset:
        def select(self, rows):
            return rows

    for item in loading(subset, path, repr("my 'data'"), "classification"):
        names = {"model": Model(), "dataset": Dataset()}
        exec(item["code"], names)
        if item["key"] == "torch":
            assert sum(len(batch[1]) for batch in names["loader"]) == 10
        if item["key"] == "hf":
            assert np.array_equal(names["part"], subset.indices(source))
    assert opened == ["my 'data'"] * 3


def test_bad_input_is_refused_in_one_sentence(make_run, make_study, tmp_path):
    with pytest.raises(NotFoundError, match="there is none at"):
        write_run_report(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="not the directory of a winnow run"):
        write_run_report(tmp_path / "empty")
    run = make_run()
    shutil.rmtree(run / "study")
    (run / "subset.parquet").unlink()
    with pytest.raises(StoreError, match="not finished: it holds neither a subset nor a study yet"):
        write_run_report(run)
    with pytest.raises(InputError, match="is a directory"):
        write_study_report(make_study(), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        write_study_report(make_study(), tmp_path / "file" / "report.html")
    with pytest.raises(InputError, match="must be a Study; got str"):
        write_study_report("study", tmp_path / "r.html")


def test_a_failed_report_leaves_the_old_one(make_run, monkeypatch):
    run = make_run()
    old = write_run_report(run).read_bytes()
    (run / "gallery.json").write_text("{")
    with pytest.raises(StoreError):
        write_run_report(run)
    assert (run / "report.html").read_bytes() == old


def test_importing_the_room_draws_nothing_in():
    import subprocess
    import sys

    code = (
        "import sys, winnow.report; "
        "print([name for name in ('matplotlib', 'jinja2', 'torch', 'PIL') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_render_needs_no_disk(make_study):
    assert render(SavedRun(make_study())).startswith("<!doctype html>")
