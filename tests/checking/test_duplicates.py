"""Duplicates: what was planted is found, what agrees by chance is not, and order plays no part."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from tests.checking.small import darker, images, jpeg, moved, named, table
from tests.oracles import checking as oracle
from winnow.artefacts import Source
from winnow.checking import table_match
from winnow.checking.duplicates import _components, duplicates
from winnow.checking.near_pairs import image_prints, near_pairs
from winnow.checking.table_match import chance_agreements, repeat_probability, standard_rows
from winnow.core.errors import InputError
from winnow.core.scratch_rows import scratch_rows
from winnow.sources import row_groups

IMAGES = images(300)
COPIES = np.stack([*map(jpeg, IMAGES[:10]), *map(moved, IMAGES[10:20]), *map(darker, IMAGES[20:30]), IMAGES[30]])


def pairs_of(groups: object) -> set[frozenset[int]]:
    return {frozenset(members.tolist()) for members in groups.groups()}  # type: ignore[attr-defined]


def test_copies_of_images_are_found_and_nothing_else() -> None:
    source = named(np.concatenate([IMAGES, COPIES]))
    found = duplicates(source)
    assert pairs_of(found) == {frozenset((place, 300 + place)) for place in range(31)}
    assert len(found) == 31
    assert found.exact[[30, 330]].all()
    assert not found.exact[found.representative != np.arange(331)][:30].any()


def test_prints_of_images_in_files_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    source = named(np.concatenate([IMAGES, COPIES]))
    held = near_pairs(source)
    monkeypatch.setattr(scratch_rows, "__defaults__", (0,))  # bytes that are held in memory
    assert all(isinstance(one, np.memmap) for one in image_prints(source))
    found = near_pairs(source)
    assert np.array_equal(found.pairs, held.pairs)
    assert np.array_equal(found.probabilities, held.probabilities)


def test_findings_flag_all_but_the_representative() -> None:
    labels = ["a", "b"] * 150 + ["a"] * 31
    source = named(np.concatenate([IMAGES, COPIES]), labels)
    found = duplicates(source)
    findings = found.findings(source)
    assert len(findings) == 62
    assert sum(one.flagged for one in findings) == 31
    for one in findings:
        assert one.kind == "duplicate"
        assert 0.5 <= one.probability <= 1
        assert bool(one.other) == one.flagged
    assert {one.id for one in findings if "labels in this group differ: a, b" in one.evidence} == {
        f"e{place:05d}" for odd in range(1, 31, 2) for place in (odd, 300 + odd)
    }
    assert len(found.conflicts(source)) == 15
    same = next(one for one in findings if one.id == "e00330" or (one.id == "e00030" and one.flagged))
    assert "stands for 2" in same.evidence or "the same content" in same.evidence


def test_rows_with_noise_are_found_and_chance_is_not() -> None:
    x = table()
    noise = 0.01 * x.std(axis=0) * np.random.default_rng(1).normal(size=(20, x.shape[1]))
    source = named(np.concatenate([x, (x[:20] + noise).astype(np.float32)]))
    found = duplicates(source)
    assert pairs_of(found) == {frozenset((place, 400 + place)) for place in range(20)}
    assert all("within" in one.evidence for one in found.findings(source) if one.flagged)
    plane = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)  # where rows are near by chance
    assert len(duplicates(named(plane))) == 0


def test_many_copies_of_one_row_are_one_group() -> None:
    x = table()
    noise = 0.005 * x.std(axis=0) * np.random.default_rng(1).normal(size=(20, x.shape[1]))
    found = duplicates(named(np.concatenate([x, (x[:1] + noise).astype(np.float32)])))
    assert pairs_of(found) == {frozenset((0, *range(400, 420)))}


def test_equal_rows_of_small_numbers_are_chance() -> None:
    draw = np.random.default_rng(0)
    few = draw.integers(0, 2, size=(500, 5)).astype(np.float32)
    assert len(duplicates(named(few))) == 0
    many = draw.integers(0, 50, size=(500, 10)).astype(np.float32)
    found = duplicates(named(np.concatenate([many, many[:7]])))
    assert pairs_of(found) == {frozenset((place, 500 + place)) for place in range(7)}


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_probability_of_repeats_agrees_with_its_slow_twin(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 3, size=(25, 3)).astype(np.float32)
    expected, equal = oracle.expected_repeats(rows)
    some = equal > 0
    overall = expected[some].sum() / max(equal[some].sum(), 1)
    wanted = np.where(some, 1 - np.minimum((expected / np.maximum(equal, 1) + overall) / 2, 1), 0)
    assert np.allclose(repeat_probability(rows), wanted)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_components_agree_with_their_slow_twin(seed: int) -> None:
    edges = np.random.default_rng(seed).integers(0, 20, size=(12, 2))
    wanted, found = oracle.components(20, edges.tolist()), _components(20, edges)
    assert all((wanted[i] == wanted[j]) == (found[i] == found[j]) for i in range(20) for j in range(20))


def test_order_plays_no_part() -> None:
    values = np.concatenate([IMAGES[:120], COPIES[:12]])
    mixed = np.random.default_rng(2).permutation(len(values))
    source = named(values)
    one, other = duplicates(source), duplicates(source.at(mixed))
    assert np.array_equal(one.group[mixed], other.group)
    assert np.array_equal(mixed[other.representative], one.representative[mixed])
    assert np.allclose(one.probability[mixed], other.probability, atol=1e-4)


def test_groups_have_a_number_of_their_own_and_the_most_central_stands_for_them() -> None:
    x = IMAGES[:100]
    chain = np.stack([darker(x[0]), jpeg(x[0]), moved(x[0])])
    found = duplicates(named(np.concatenate([x, chain])))
    assert pairs_of(found) == {frozenset((0, 100, 101, 102))}
    assert np.unique(found.group).size == 100
    assert (found.group[1:100] == np.arange(1, 100)).all()


def test_other_data_go_by_their_embeddings() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(size=(300, 4, 9)).astype(np.float32)
    points = draw.normal(size=(300, 6))
    points[299] = points[0] + 0.01
    source = Source("sounds", lambda where: values[where], 300, (4, 9), "tensor", "unlabelled", make_ids=np.arange(300))
    found = duplicates(source, points)
    assert pairs_of(found) == {frozenset((0, 299))}
    assert "embedding" in next(one.evidence for one in found.findings(source) if one.flagged)
    with pytest.raises(InputError, match="embeddings of check"):
        duplicates(source, points[:7])


def test_embeddings_add_candidates_for_images() -> None:
    source = named(np.concatenate([IMAGES[:60], COPIES[:3]]))
    given_rows = np.random.default_rng(0).normal(size=(63, 4))
    assert pairs_of(duplicates(source, given_rows)) == {frozenset((place, 60 + place)) for place in range(3)}


def test_small_and_odd_sources() -> None:
    assert len(duplicates(wn.open(np.zeros((2, 3), dtype=np.float32)))) in (0, 1)
    assert len(duplicates(named(IMAGES[:2]))) == 0
    assert near_pairs(named(IMAGES[:2])).pairs.shape == (0, 2)
    constant = np.concatenate([table(60), np.zeros((60, 1), dtype=np.float32)], axis=1)
    assert not standard_rows(named(constant))[:, -1].any()


def test_a_table_in_a_file_is_standardised_piece_by_piece(tmp_path, monkeypatch) -> None:
    """The pieces and the file change nothing, and row groups are not held when all of them have been read."""
    x = table(90)
    x[:, 2] = 7.0
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": np.arange(90), **{f"x{k}": x[:, k] for k in range(x.shape[1])}}), path)
    wanted = x - x.mean(axis=0, dtype=np.float64)
    spread = wanted.std(axis=0)
    wanted = np.divide(wanted, spread, out=np.zeros_like(wanted), where=spread > 1e-6)
    held = standard_rows(named(x))
    monkeypatch.setattr(table_match, "READ", 16)
    monkeypatch.setattr(table_match, "scratch_rows", partial(scratch_rows, held=0))
    for rows in (held, standard_rows(named(x)), standard_rows(wn.open(path))):
        assert np.allclose(rows, wanted, atol=1e-5)
    assert row_groups._groups.nbytes == 0


def test_what_agrees_by_chance_is_counted() -> None:
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0).astype(np.float32)
    assert np.allclose(chance_agreements(rows, np.array([[0, 1]])), 100 * 0.25)


@pytest.mark.parametrize(("alike", "near"), [(0.87, 0), (0.96, 1)])
def test_pictures_that_differ_are_not_near_because_all_others_differ_more(alike: float, near: int) -> None:
    draw = np.random.default_rng(0)
    plain = draw.normal(size=(40, 1, 32, 32))
    plain[1] = alike * plain[0] + np.sqrt(1 - alike**2) * plain[1]
    source = named(np.clip(128 + 30 * plain, 0, 255).astype(np.uint8))
    assert len(duplicates(source)) == near
