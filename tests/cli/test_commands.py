"""Every command, in this process: help, JSON, the chain from observing to the report, and refusals."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer

import winnow as wn
from tests.cli.conftest import Said, installed
from winnow.cli import _run, app
from winnow.core import registry

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")

Winnow = Callable[..., Said]
SHORT = ["--model", "mlp", "--epochs", "4", "--batch", "32", "--workers", "1", "--limit", "80"]
COMMANDS = (
    "check",
    "prune",
    "plan",
    "observe",
    "score",
    "select",
    "evaluate",
    "export",
    "proxy",
    "theory",
    "methods",
    "report",
    "explain",
    "narrow",
    "relabel",
    "train",
    "bench",
    "view",
    "why",
    "audit",
    "do",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str, winnow: Winnow) -> None:
    said = winnow(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert "Examples:" in said.out
    assert f"winnow {command}" in said.out.split("Examples:")[1]


def test_every_command_is_listed_and_tested(winnow: Winnow) -> None:
    said = winnow("--help")
    assert said.code == 0
    assert {command.name for command in app.registered_commands} == set(COMMANDS)
    assert all(command in said.out for command in COMMANDS)


def test_version(winnow: Winnow) -> None:
    assert winnow("--version") == Said(0, f"winnow {wn.__version__}\n", "")


def test_methods_lists_what_the_registry_holds(winnow: Winnow) -> None:
    found = winnow("methods", "--json").json["methods"]
    names = {(row["kind"], row["name"]) for row in found}
    assert names == {(m.kind, m.name) for kind in registry.KINDS for m in registry.listing(kind)}
    assert {("score", "el2n"), ("signal", "lpntk"), ("source", "csv"), ("engine", "local")} <= names
    strata = next(row for row in found if row["name"] == "strata")
    assert strata["default_score"] == "aum"
    assert strata["parameters"]["bins"] == 50
    text = winnow("methods").out
    assert all(name in text for _, name in names)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of winnow observe."""
    folder = tmp_path_factory.mktemp("observed") / "run"
    assert _run(["observe", "digits", *SHORT, "--seeds", "2", "--out", str(folder)]) == 0
    return folder


def test_observe_says_what_it_recorded(winnow: Winnow, run: Path) -> None:
    command = ("observe", "digits", *SHORT, "--seeds", 2, "--out", run)
    said = winnow(*command, "--json")
    assert said.err == ""
    assert said.json == {
        "signals": str(run / "signals.safetensors"),
        "examples": 80,
        "arrays": {key: [2, 4, 80] for key in ("half_errors", "half_margins", "odds")},
    }
    text = winnow(*command)
    assert "half_margins     2 x 4 x 80\n" in text.out
    assert text.out.endswith(f"signals  {run / 'signals.safetensors'}\n")


def test_the_chain_from_observing_to_the_report(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    signals = wn.Signals.load(run / "signals.safetensors")

    scored = winnow("score", "el2n", run, "--set", "epoch=2", "--json").json
    scores = wn.Scores.load(run / "scores" / "el2n.parquet")
    np.testing.assert_array_equal(scores.values, wn.score("el2n", signals, epoch=2).values)
    assert scored["scores"] == str(run / "scores" / "el2n.parquet")
    assert (scored["examples"], scored["reliability"]) == (80, scores.reliability)
    assert scored["lowest"] <= scored["median"] <= scored["highest"] == scores.values.max()
    assert "reliability" in winnow("score", "aum", run, "--out", tmp_path / "aum.parquet").out

    chosen = winnow("select", "rank", run, "--score", "el2n", "--keep", 0.5, "--balance", 0.5, "--json").json
    subset = wn.Subset.load(chosen["subset"])
    assert chosen["subset"] == str(run / "rank.parquet")
    assert (chosen["kept"], chosen["of"]) == (40, 80)
    assert subset.ids.tolist() == wn.select("rank", signals, score="el2n", keep=0.5, balance=0.5).ids.tolist()
    easy = tmp_path / "easy.parquet"
    file = wn.score("el2n", signals).save(tmp_path / "scores.parquet")
    again = winnow("select", "rank", file, "--keep", 0.5, "--balance", 0.5, "--json").json
    assert (again["of"], Path(again["subset"])) == (len(signals), tmp_path / "rank.parquet")
    assert wn.Subset.load(again["subset"]).ids.tolist() == subset.ids.tolist()
    said = winnow("select", "rank", run, "--size", 40, "--set", "policy=easy", "--out", easy)
    assert said.out == f"kept 40 of 80 examples\nsubset  {easy}\n"
    assert wn.Subset.load(easy).ids.tolist() != subset.ids.tolist()

    study = tmp_path / "study"
    command = ["evaluate", "digits", *SHORT, "--out", study, "--subset", run / "rank.parquet"]
    found = winnow(*command, "--seeds", 1, "--json").json
    assert [row["arm"] for row in found["table"]] == ["full", "everything@0.5", "random@0.5", "rank"]
    assert found["study"] == str(study / "study")
    times = {path: path.stat().st_mtime_ns for path in study.glob("study/trainings/*/*.json")}
    more = winnow(*command, "--subset", f"simple={easy}", "--seeds", 2)
    assert more.code == 0
    assert "simple" in more.out
    assert len(times) == 4
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    assert len(list(study.glob("study/trainings/*/*.json"))) == 10

    page = tmp_path / "pages" / "report.html"
    said = winnow("report", study, "--out", page)
    assert said == Said(0, f"report  {page}\n", "")
    assert "simple" in page.read_text()


def test_prune_prints_json_that_a_program_can_read(winnow: Winnow, tmp_path: Path) -> None:
    command = ["prune", "digits", *SHORT, "--keep", 0.25, "--seeds", 2, "--proof-seeds", 1, "--out", tmp_path / "run"]
    said = winnow(*command, "--set", "rounds=10", "--repeated", "--json")
    assert said.code == 0
    found = said.json
    assert found["kept"] == 20
    assert found["method"] == "medoids@0.25"
    assert "2 examples are kept per class" in found["why"]
    assert found["certificate"]["method"] == "medoids"
    assert [row["arm"] for row in found["table"]] == [
        "full",
        "everything@0.25",
        "repeated random@0.25",
        "random@0.25",
        "medoids@0.25",
        "soft everything@0.25",
        "soft repeated random@0.25",
        "soft random@0.25",
    ]
    assert found["ledger"][0]["arm"] == "medoids@0.25"
    assert wn.Subset.load(found["subset"]).provenance["parameters"]["rounds"] == 10
    assert Path(found["report"]).is_file()


def test_a_table_without_a_test_split_has_a_fifth_held_out(winnow: Winnow, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    lines = [f"{a:.4f},{b:.4f},{3 * a - b + 10:.4f}" for a, b in rng.normal(size=(60, 2))]
    rows.write_text("\n".join(["a,b,price", *lines]))
    short = ["--model", "mlp", "--epochs", 4, "--batch", 16, "--seeds", 2, "--proof-seeds", 1, "--workers", 1]
    said = winnow("prune", rows, "--labels", "price", "--keep", 0.5, *short, "--out", tmp_path / "run")
    assert said.code == 0
    assert "kept 24 of 48 examples by auto@0.5 (too few examples to try difficulty+tilted" in said.out
    assert "12 examples were held out" in said.out


USER_ERRORS = [
    ("prune digits --keep 2", "--keep must be a number in (0, 1]; got 2"),
    ("prune digits", "exactly one of --keep (a fraction in (0, 1]) and --tolerance"),
    ("prune nowhere.csv --keep 0.5", "nowhere.csv"),
    ("prune digits --keep 0.5 --method el2m", "el2m"),
    ("prune digits --keep 0.5 --model lenet6 --out OUT", "lenet6"),
    ("prune digits --keep 0.5 --optimizer adamm", "unknown --optimizer 'adamm'"),
    ("prune digits --keep 0.5 --workers 0", "--workers must be"),
    ("prune digits --keep 0.5 --engine locl", "unknown --engine 'locl'"),
    ("prune digits --keep 0.5 --balance most", "--balance must be a number in [0, 1], auto or none"),
    ("prune digits --keep 0.5 --test nowhere", "nowhere"),
    ("prune digits --keep 0.5 --set beta", "--set must be given as name=value"),
    ("prune digits --keep 0.5 --method strata --set betaa=1", "betaa"),
    ("observe digits --want logitz --out OUT", "logitz"),
    ("observe digits --seeds 0 --out OUT", "--seeds must be"),
    ("score el2n nowhere", "is not a winnow run"),
    ("score el2m RUN", "el2m"),
    ("score grand RUN", "grand"),
    ("select rnak RUN --keep 0.5", "rnak"),
    ("select rank RUN", "exactly one of --keep (a fraction in (0, 1]) and --size"),
    ("select rank RUN --keep 0.5 --size 3", "--keep"),
    ("select rank RUN --keep 0.5 --seed -1", "--seed must be"),
    ("evaluate digits --subset nowhere.parquet --out OUT", "nowhere.parquet"),
    ("report nowhere", "is not a winnow run"),
]


@pytest.mark.parametrize(("typed", "words"), USER_ERRORS, ids=[typed for typed, _ in USER_ERRORS])
def test_a_mistake_is_one_line_and_code_two(typed: str, words: str, winnow: Winnow, run: Path, tmp_path: Path) -> None:
    said = winnow(*typed.replace("RUN", str(run)).replace("OUT", str(tmp_path / "out")).split())
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert said.err.count("\n") == 1
    assert said.err.endswith("\n")
    assert words in said.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("prune digits --kepe 0.5", "--keep"),
        ("prun digits", "prune"),
        ("prune", "data"),
        ("prune digits --keep half", "'--keep': input should be a valid number"),
        ("evaluate digits --out x", "--subset"),
    ],
)
def test_what_cannot_be_parsed_is_explained_with_code_two(typed: str, words: str, winnow: Winnow) -> None:
    said = winnow(*typed.split())
    assert (said.code, said.out) == (2, "")
    assert words.lower() in said.err.lower()
    assert "Traceback" not in said.err


def test_warnings_are_notes(winnow: Winnow, monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    def noisy(*_: object, **__: object) -> None:
        warnings.warn("two files were skipped", UserWarning, stacklevel=2)
        raise typer.Exit

    monkeypatch.setattr("winnow.core.registry.listing", noisy)
    warnings.simplefilter("always")
    said = winnow("methods")
    assert said == Said(0, "", "winnow: note: two files were skipped\n")


def test_ctrl_c_is_said_in_one_line(winnow: Winnow, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("winnow.core.registry.listing", stopped)
    said = winnow("methods")
    assert (said.code, said.out) == (130, "")
    assert said.err == "winnow: stopped; finished steps are kept; run the same command again to resume.\n"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_threads_that_a_stop_breaks_off_say_nothing(
    how: signal.Signals, winnow: Winnow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off() -> None:
        raise KeyError(12)  # as joblib's, when the work it hands out is taken away

    def stopped(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), how)
            time.sleep(10)
        finally:
            thread = threading.Thread(target=broken_off)
            thread.start()
            thread.join()

    monkeypatch.setattr("winnow.core.registry.listing", stopped)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        said = winnow("methods")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert said == Said(130, "", "winnow: stopped; finished steps are kept; run the same command again to resume.\n")


@pytest.mark.parametrize(
    ("typed", "words"),
    [("score el2n nowhere", "nowhere is not a winnow run"), ("report nowhere", "nowhere is not a winnow run")],
)
def test_the_installed_command_refuses_in_one_line_too(typed: str, words: str) -> None:
    said = installed(*typed.split())
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert words in said.err


def test_json_is_strict(winnow: Winnow, run: Path) -> None:
    """No NaN, which JSON does not have: a study of one seed has no interval."""
    subset = run / "half.parquet"
    winnow("select", "random", run, "--keep", 0.5, "--out", subset)
    said = winnow("evaluate", "digits", *SHORT, "--subset", subset, "--seeds", 1, "--out", run.parent / "one", "--json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    rows = json.loads(said.out, parse_constant=refuse)["table"]
    assert any(value is None for row in rows for value in row.values())


def test_a_built_in_name_given_as_test_data_means_its_test_split(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    assert winnow("select", "random", str(run), "--size", "20", "--out", str(tmp_path / "few.parquet")).code == 0
    typed = ["evaluate", "digits", *SHORT, "--subset", str(tmp_path / "few.parquet"), "--seeds", "1"]
    said = winnow(*typed, "--test", "digits", "--out", str(tmp_path / "study"))
    assert said.code == 0
    about = json.loads((tmp_path / "study" / "study" / "study.json").read_text())["provenance"]
    assert about["parameters"]["overlap"] == {"digits": 0}
    assert about["inputs"]["tests"]["digits"]["size"] == len(wn.open("digits", split="test"))


def test_two_files_of_one_name_are_told_apart_or_refused(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    files = [tmp_path / folder / "s.parquet" for folder in ("a", "b")]
    for number, file in enumerate(files):
        assert winnow("select", "random", str(run), "--size", "20", "--seed", str(number), "--out", str(file)).code == 0
    typed = ["evaluate", "digits", *SHORT, "--seeds", "1", "--out", str(tmp_path / "study")]
    said = winnow(*typed, "--subset", str(files[0]), "--subset", str(files[1]))
    assert (said.code, said.err) == (2, "winnow: --subset has the name 's' twice; use name=file to tell them apart.\n")
    said = winnow(*typed, "--subset", f"one={files[0]}", "--subset", f"two={files[1]}", "--json")
    assert {row["arm"] for row in said.json["table"]} >= {"one", "two", "full"}


def test_weights_are_used_as_asked(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    assert winnow("select", "random", str(run), "--size", "20", "--out", str(tmp_path / "few.parquet")).code == 0
    few = wn.Subset.load(tmp_path / "few.parquet")
    wn.Subset(few.ids, np.linspace(1, 5, 20)).save(tmp_path / "heavy.parquet")
    typed = [
        "evaluate",
        "digits",
        *SHORT,
        "--subset",
        tmp_path / "heavy.parquet",
        "--seeds",
        1,
        "--out",
        tmp_path / "out",
    ]
    rows = []
    for weighting in ("loss", "draw"):
        assert winnow(*typed, "--weighting", weighting).code == 0
        study = wn.Study.load(tmp_path / "out" / "study")
        assert study.provenance["parameters"]["weighting"] == weighting
        rows.append((study.of("heavy")[0].loss, study.of("full")[0].loss))
    assert rows[0][0] != rows[1][0]
    assert rows[0][1] == rows[1][1]
    said = winnow(*typed, "--weighting", "los")
    assert (said.code, said.err) == (
        2,
        "winnow: unknown --weighting 'los' (nearest: 'loss'); known: draw, loss.\n",
    )


def test_the_ledger_of_a_step_by_step_run_knows_what_it_cost(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    assert winnow("select", "rank", str(run), "--size", "20").code == 0
    typed = ["evaluate", "digits", *SHORT, "--subset", str(run / "rank.parquet"), "--seeds", "1", "--json"]
    row = next(row for row in winnow(*typed, "--out", str(tmp_path / "study")).json["table"] if row["arm"] == "rank")
    observed = sum(json.loads(f.read_text())["seconds"] for f in (run / "steps" / "observe").glob("seed-*.json"))
    selected = json.loads((run / "steps" / "select" / "rank.json").read_text())["seconds"]
    assert row["selection_s"] == pytest.approx(observed + selected)


def test_asking_for_more_adds_to_an_observation(winnow: Winnow, tmp_path: Path) -> None:
    typed = ["observe", "digits", *SHORT, "--seeds", "2", "--out", str(tmp_path / "run")]
    assert winnow(*typed).code == 0
    assert winnow(*typed, "--want", "gradient_norms").code == 0
    assert {"half_margins", "gradient_norms"} <= set(wn.Signals.load(tmp_path / "run" / "signals.safetensors").arrays)
    said = winnow(*[word if word != "4" else "5" for word in typed])
    assert said.code == 2
    assert "other settings" in said.err


def test_an_option_of_its_own_is_not_set_twice(winnow: Winnow, run: Path) -> None:
    said = winnow("select", "rank", str(run), "--keep", "0.5", "--set", "seed=3")
    assert (said.code, said.err) == (2, "winnow: --set is for parameters of the method; for seed there is --seed.\n")


def test_a_bound_finds_the_size(winnow: Winnow, tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = ("--model", "mlp", "--epochs", 1, "--limit", 100, "--want", "embeddings", "--out", run)
    assert winnow("observe", "digits", *given).code == 0
    found = winnow("select", "influence_bound", run, "--epsilon", 0.3, "--json").json
    assert 1 < found["kept"] < 100
    assert found["certificate"]["holds"]
    assert found["kept"] == found["certificate"]["smallest_size"]
    said = winnow("select", "rank", run, "--epsilon", 0.3)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("prune digits --keep 50%", "unable to parse string as a number; it takes: Fraction to keep, in (0, 1]."),
        ("prune digits --nonsense 1", "; winnow prune --help lists the options."),
        ("prune digits --limit 200 --keep 0.001", "--keep must keep at least 2 examples to train on; 0.001 of the"),
    ],
)
def test_a_wrong_option_gets_one_sentence_and_leaves_no_run(
    typed: str, words: str, winnow: Winnow, tmp_path: Path
) -> None:
    said = winnow(*typed.split(), "--out", tmp_path / "run")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("winnow: ")
    assert words in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
