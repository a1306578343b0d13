from __future__ import annotations

import math
from dataclasses import replace

import pytest

from winnow.artefacts import Interval
from winnow.artefacts.ledger import ledger
from winnow.core.units import seconds_text
from winnow.report import metric_units as units
from winnow.report import sentences as words


def said(study, arm="el2n@0.4"):
    row = next(row for row in ledger(study) if row["arm"] == arm)
    return words.headline(study, arm, row).replace(words.GAP, " ")


def test_a_win_names_what_was_kept_both_differences_and_the_break_even(make_study):
    text = said(make_study())
    assert text.startswith("Trained on 400 of 1,000 examples (40 %), the model reaches 92.0 ± ")
    assert "3.0 points below the full data (95 % interval " in text
    assert "2.0 points better than random (95 % interval +" in text
    assert text.endswith(
        "selection took 9.0 s and each training saves 6.0 s, so a single training costs 3.0 s more in total, and "
        "selection pays off after 2 trainings."
    )
    assert "\n" not in text


def test_a_difference_within_the_noise_is_no_win(make_study):
    text = said(make_study(ours=0.9002, full=0.9005, noise=0.01))
    assert "not significantly better than random (5 seeds: " in text
    assert "not significantly different from the full data (5 seeds: " in text
    assert "better than random" not in text.replace("not significantly better than random", "")


def test_a_loss_is_called_a_loss(make_study):
    text = said(make_study(ours=0.85))
    assert "5.0 points worse than random (95 % interval \N{MINUS SIGN}" in text


def test_one_seed_has_no_interval_and_no_claim(make_study):
    text = said(make_study(seeds=1))
    assert "one seed: no interval" in text
    assert "so no interval and no claim" in text
    assert "better than random" not in text
    assert "nan" not in text


def test_a_soft_arm_is_said_to_be_compared_with_soft_random(make_study):
    study = make_study()
    arms = tuple(replace(arm, soft=True) if arm.kind == "random" else arm for arm in study.arms)
    text = said(replace(study, arms=arms))
    assert "2.0 points better than random with the same soft targets (95 % interval +" in text


def test_what_never_pays_says_so(make_study):
    assert "it never pays off: selection took 9.0 s" in said(make_study(seconds=(4.0, 4.5)))


def test_a_saving_in_the_first_training(make_study):
    text = said(make_study(seconds=(30.0, 4.0)))
    assert "including selection (9.0 s), a single training already saves 17.0 s" in text


def test_unrecorded_selection_claims_no_net(make_study):
    text = said(make_study(selection={}))
    assert "the cost of selection was not recorded" in text
    assert "pays" not in text


def test_regression_speaks_of_r2_without_per_cent(make_study):
    text = said(make_study(metric="r2", classes=()))
    assert "reaches 0.920 ± " in text
    assert "R\N{SUPERSCRIPT TWO}: 0.030 below the full data" in text
    assert "point" not in text


def test_many_subsets_are_counted_not_cherry_picked(make_study):
    study = make_study(keeps=(0.2, 0.4), methods=("a", "b"))
    rows = {row["arm"]: row for row in ledger(study)}
    text = words.several(study, list(rows), rows).replace(words.GAP, " ")
    assert text.startswith("Of 4 subsets, 4 beat random. The largest gain over random is that of a@")
    assert "0 of 4 save time in a single training" in text


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (None, "unknown"),
        (Interval(0.1, math.nan, math.nan, 1), "one seed"),
        (Interval(0.1, -0.1, 0.3, 5), "tie"),
        (Interval(0.0, 0.0, 0.0, 5), "tie"),
        (Interval(0.1, 0.05, 0.15, 5), "better"),
        (Interval(-0.1, -0.15, -0.05, 5), "worse"),
    ],
)
def test_verdicts(gap, expected):
    assert words.verdict(gap) == expected


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "Reliability is unknown"),
        (0.95, "very reliable"),
        (0.8, ", reliable"),
        (0.5, "moderate"),
        (0.1, "weak"),
        (-0.2, "weak"),
    ],
)
def test_reliability_is_put_in_words(value, word):
    assert word in words.reliability(value)


@pytest.mark.parametrize(
    ("factor", "word"), [(0.0, "number of epochs"), (1.0, "number of optimiser steps"), (0.5, "factor 0.5")]
)
def test_the_protocol_states_how_iterations_are_matched(make_study, factor, word):
    import dataclasses

    assert word in words.protocol(dataclasses.replace(make_study(), match_iterations=factor))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0042, "0.0042 s"),
        (0.042, "0.042 s"),
        (0.42, "0.42 s"),
        (12.34, "12.3 s"),
        (245, "4 min 05 s"),
        (7810, "2 h 10 min"),
    ],
)
def test_durations(seconds, text):
    assert seconds_text(seconds).replace(words.GAP, " ") == text


def test_when_it_pays():
    row = {"saved_per_training_s": 5.0, "selection_s": 0.0, "pays_after": None}
    assert words.pays(row) == "1 training"
    assert words.pays({**row, "selection_s": 11.0, "pays_after": 3}) == "3 trainings"
    assert words.pays({**row, "saved_per_training_s": -1.0}) == "never"
    assert words.pays({**row, "selection_s": math.nan}) == "not known"


def test_names_for_figures_are_short_and_printable():
    assert units.name_for_axis("a\x00b\nc") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    assert len(units.name_for_axis("x" * 100)) == units.LONGEST_NAME
    assert units.method_of("el2n@0.5") == "el2n"
    assert units.method_of("pruned") == "pruned"
