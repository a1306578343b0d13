from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from winnow.artefacts import Scores, Subset
from winnow.artefacts.gallery import Gallery
from winnow.core.errors import InputError, StoreError
from winnow.report.pictures import make_gallery


def scored(source):
    values = np.array([int(name[-4:]) for name in source.ids], dtype=float)  # the id says how hard it is
    return Scores("aum", source.ids, values, None, source.task, source.labels, source.classes)


def hardest(source, keep=0.4):
    names = np.sort(source.ids)
    return Subset(names[round(len(source) * (1 - keep)) :])


def test_sections_hold_what_they_say(make_source):
    source = make_source()
    gallery = make_gallery(source, scored(source), hardest(source), count=6)
    assert [item.id for item in gallery.sections["easiest"]] == [f"ex-{k:04d}" for k in range(6)]
    assert [item.id for item in gallery.sections["hardest"]] == [f"ex-{k:04d}" for k in range(999, 993, -1)]
    assert all(item.kept for item in gallery.sections["kept"])
    assert not any(item.kept for item in gallery.sections["dropped"])
    assert gallery.sections["hardest"][0].score == 999.0
    assert gallery.score == "aum"


def test_labels_belong_to_the_ids(make_source):
    source = make_source()
    names = dict(zip(source.ids.tolist(), (source.classes[k] for k in source.labels), strict=True))
    gallery = make_gallery(source, scored(source), hardest(source))
    for items in gallery.sections.values():
        assert all(names[item.id] == item.label for item in items)


def test_samples_show_every_class_if_there_is_room(make_source):
    source = make_source()
    gallery = make_gallery(source, None, hardest(source), count=4)
    for name in ("kept", "dropped"):
        assert [item.label for item in gallery.sections[name]] == list(source.classes)
    assert "easiest" not in gallery.sections
    assert gallery.score is None


def test_shuffling_the_source_changes_nothing(make_source):
    source = make_source()
    other = source.at(np.random.default_rng(9).permutation(len(source)))
    one = make_gallery(source, scored(source), hardest(source))
    assert one == make_gallery(other, scored(other), hardest(other))


def test_only_what_is_shown_is_read(make_source):
    source = make_source()
    gallery = make_gallery(source, scored(source), hardest(source), count=5)
    shown = {item.id for items in gallery.sections.values() for item in items}
    assert sorted(source.ids[source.read.asked].tolist()) == sorted(shown)


def test_counts_by_class(make_source):
    source = make_source()
    subset = hardest(source)
    kept = source.labels[subset.indices(source)]
    gallery = make_gallery(source, None, subset)
    assert gallery.counts == tuple((name, int((kept == k).sum()), 250) for k, name in enumerate(source.classes))


@pytest.mark.parametrize(
    ("shape", "mode", "size"),
    [
        ((1, 8, 8), "L", (8, 8)),
        ((3, 32, 32), "RGB", (32, 32)),
        ((3, 200, 100), "P", (48, 96)),
        ((4, 10, 12), "RGB", (12, 10)),
        ((2, 10, 12), "L", (12, 10)),
    ],
)
def test_pictures_are_small_pngs(make_source, shape, mode, size):
    source = make_source(n=20, shape=shape)
    item = make_gallery(source, None, hardest(source)).sections["kept"][0]
    image = Image.open(io.BytesIO(base64.b64decode(item.png)))
    assert (image.mode, image.size) == (mode, size)
    assert (item.width, item.height) == size
    if shape == (1, 8, 8):
        assert np.array_equal(np.asarray(image), source.read.data[source.positions([item.id])[0], 0])


def test_rows_of_a_table(make_source):
    source = make_source("table", task="regression", columns=tuple(f"col{k}" for k in range(15)))
    gallery = make_gallery(source, scored(source), hardest(source))
    item = gallery.sections["easiest"][0]
    assert gallery.columns == tuple(f"col{k}" for k in range(12))
    assert gallery.hidden_columns == 3
    where = source.positions([item.id])[0]
    assert item.row == tuple(f"{value:.4g}" for value in source.read.data[where, :12])
    assert item.label == f"{source.labels[where]:.4g}"
    assert gallery.counts == ()


def test_missing_values_of_a_table_are_called_missing(make_source):
    source = make_source("table", n=10, task="unlabelled")
    source.read.data[:, 1] = np.nan
    gallery = make_gallery(source, None, hardest(source))
    assert gallery.sections["kept"][0].row[1] == "missing"
    assert gallery.sections["kept"][0].label is None


def test_tensors_are_described(make_source):
    source = make_source("tensor", n=30)
    item = make_gallery(source, None, hardest(source)).sections["kept"][0]
    data = source.read.data[source.positions([item.id])[0]]
    assert item.facts["shape"] == "3 x 4 x 5"
    assert item.facts["mean"] == f"{data.astype(float).mean():.4g}"
    assert item.png is None


def test_keeping_everything_drops_nothing(make_source):
    source = make_source(n=20)
    assert "dropped" not in make_gallery(source, None, Subset(source.ids)).sections


@pytest.mark.parametrize("kind", ["image", "table", "tensor"])
def test_saved_and_loaded_is_the_same(tmp_path, make_source, kind):
    source = make_source(kind)
    gallery = make_gallery(source, scored(source), hardest(source))
    gallery.save(tmp_path / "one.json")
    again = Gallery.load(tmp_path / "one.json")
    assert again == gallery
    again.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("content", ["[]", "{}", "nonsense", json.dumps({"winnow": "gallery", "sections": {}})])
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "gallery.json").write_text(content)
    with pytest.raises(StoreError, match=r"gallery\.json"):
        Gallery.load(tmp_path / "gallery.json")


def test_bad_input_is_refused(make_source):
    source = make_source(n=20)
    with pytest.raises(InputError, match="count of gallery"):
        make_gallery(source, None, hardest(source), count=0)
    with pytest.raises(InputError, match="no example with id"):
        make_gallery(source, None, Subset(np.array(["stranger"])))
