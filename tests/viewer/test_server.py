"""The routes, a whole server on a port, the notebook, the command, and methods that are computed anew."""

from __future__ import annotations

import io
import json
import threading
import time

import httpx
import numpy as np
import pytest
from PIL import Image

import winnow as wn
from winnow.viewer.server import static_files


@pytest.fixture
def checked(own, asked):
    return asked(own("check"))


@pytest.fixture
def client(checked, client_of):
    return client_of(checked)


def test_the_page_and_its_files_are_served(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name in static_files():
        assert client.get(f"/static/{name}").status_code == 200
    assert client.get("/static/map/LICENSES.txt").status_code == 404  # only what the page needs
    assert client.get("/nowhere").status_code == 404


def test_no_file_of_the_page_names_another_host():
    for name, (body, _) in static_files().items():
        text = body.decode()
        if name == "map/scatterplot.js":
            continue  # bundled: comments and messages name their projects; its frame may request nothing at all
        assert "//" not in text.replace("http://www.w3.org/", "").replace("// ", "").replace('"//', ""), name
        assert "innerHTML" not in text, name
        assert "eval(" not in text, name


def test_pages_of_rows(client, checked):
    found = client.get("/api/rows", params={"start": 20, "count": 10, "filter": '{"sort": "class"}'}).json()
    assert found["total"] == checked.table.n
    assert [row["row"] for row in found["rows"]] == checked.table.order("class")[20:30].tolist()
    assert len(client.get("/api/rows", params={"count": 100_000}).json()["rows"]) == min(400, checked.table.n)
    assert "work;dur=" in client.get("/api/rows").headers["server-timing"]


def test_pictures_are_pictures(client, checked):
    small, large = (client.get(f"/picture/3{more}") for more in ("", "?side=large"))
    for answer, least in ((small, 64), (large, 300)):
        image = Image.open(io.BytesIO(answer.content))
        assert max(image.size) >= least
        assert answer.headers["content-type"] == "image/png"


def test_points_colours_and_masks_have_one_entry_per_example(client, checked):
    points = np.frombuffer(client.get("/api/points").content, dtype="<u2").reshape(-1, 2)
    assert np.abs(points / 32767.0 - 1 - checked.drawn.points).max() < 1e-4
    colours = client.get("/api/colours", params={"by": "class"})
    assert colours.headers["x-kind"] == "categories"
    assert np.frombuffer(colours.content, dtype="<u2").tolist() == checked.table.labels.tolist()
    bits = client.get("/api/mask", params={"filter": '{"classes": [1]}'}).content
    mask = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: checked.table.n]
    assert mask.astype(bool).tolist() == (checked.table.labels == 1).tolist()


def test_the_panel_of_an_example(client, checked):
    row = int(np.flatnonzero(checked.table.issue_mask("label"))[0])
    one = client.get("/api/example", params={"row": row}).json()
    assert one["issues"][0]["kind"] == "label"
    assert one["suggestion"]
    assert len(one["curves"]) == 5  # folds
    assert {"losses", "probabilities", "correct"} <= set(one["curves"][0])
    assert all(0 <= score["percentile"] <= 100 for score in one["scores"])
    assert len(one["near"]) == 8
    gaps = np.linalg.norm(checked.drawn.rows - checked.drawn.rows[row], axis=1)
    gaps[row] = np.inf
    assert one["near"][0]["row"] == int(gaps.argmin())
    assert one["near"][0]["distance"] == pytest.approx(float(gaps.min()), rel=1e-4)


def test_soft_targets_are_shown(own, asked):
    answers = asked(own("medoids"))
    subset = answers.run.subsets["this run"]
    row = answers.table.row_of_id(subset.ids[0])
    soft = answers.example({"row": str(row)})["soft"]
    assert soft[0]["value"] == pytest.approx(float(np.max(subset.targets.at(subset.ids[0]))), rel=1e-4)


def test_marks_over_the_wire(client, checked):
    found = client.post("/api/mark", json={"rows": [1, 2], "choice": "drop"}).json()
    assert found == {"marks": {"wrong": 0, "corrected": 0, "right": 0, "drop": 2, "keep": 0}, "undo": 1}
    assert client.get("/api/rows").json()["rows"][1]["mark"] == ["", "", "drop"]
    assert client.post("/api/undo", json={}).json()["rows"] == [1, 2]
    assert client.get("/api/about").json()["marks"]["drop"] == 0


def test_figures_are_drawn_in_the_colours_of_the_theme(own, asked, client_of):
    client = client_of(asked(own("proof")))
    light, dark = (client.get("/figure/study", params={"dark": flag}) for flag in "01")
    assert light.headers["content-type"] == "image/svg+xml"
    assert light.text.startswith("<svg")
    assert "var(--" not in light.text
    assert light.text != dark.text
    assert client.get("/figure/nothing").status_code == 404


def test_another_method_is_computed_by_the_library(own, asked, client_of):
    run = own("prune")
    answers = asked(run)
    client = client_of(answers)
    name = client.post("/api/recompute", json={"method": "strata", "keep": 0.25, "balance": None}).json()["name"]
    refused = client.post("/api/recompute", json={"method": "random", "keep": 0.5})
    assert refused.status_code == 400
    assert "one at a time" in refused.json()["error"]
    end = time.monotonic() + 120
    while (job := client.get("/api/jobs").json()[0])["state"] == "running" and time.monotonic() < end:
        time.sleep(0.2)
    assert job == {"name": name, "state": "done", "message": ""}
    assert client.get("/api/about").json()["members"][name] == 40
    choice = json.dumps({"method": f"subset:{name}"})
    assert client.get("/api/what-if", params={"a": choice, "b": choice}).json()["both"] == 40
    assert name in asked(run).about()["members"]  # it stays with the run
    assert client.post("/api/recompute", json={"method": "no such", "keep": 0.5}).status_code == 400


def test_many_threads_get_the_same_answers(checked):
    wanted = [json.dumps({"sort": "class", "classes": [k % 10], "search": str(k % 3)}) for k in range(40)]
    expected = [checked.rows({"filter": one})["total"] for one in wanted]
    wrong: list[int] = []

    def ask() -> None:
        for one, total in zip(wanted, expected, strict=True):
            if checked.rows({"filter": one})["total"] != total:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_server_on_a_port_of_this_machine(own, digits):
    with wn.view(own("check"), digits) as viewer:
        address, _, token = viewer.url.partition("#token=")
        assert address.startswith("http://127.0.0.1:")
        assert len(token) >= 32
        assert httpx.get(f"{address}api/about").json()["n"] == len(digits)
        assert httpx.get(f"{address}api/about", headers={"host": "evil.example"}).status_code == 421
        assert viewer._repr_html_().startswith(f'<iframe src="{viewer.url}"')
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(wn.errors.InputError, match=f"must be free; {port} is not"):
            wn.view(own("prune"), digits, port=port)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}api/about")


def test_a_run_that_may_not_be_written_is_shown_all_the_same(own, digits, monkeypatch):
    def refuse(self):
        raise wn.errors.InputError("the run directory cannot be written: Permission denied.")

    run = own("check")
    monkeypatch.setattr("winnow.core.run.Run.__enter__", refuse)
    with pytest.warns(UserWarning, match="the map is not stored"), wn.view(run, digits) as viewer:
        assert viewer._server.answers.drawn is not None


def test_the_map_is_made_once_and_belongs_to_its_examples(own, asked, digits):
    run = own("check")
    first = asked(run).drawn
    kept = (run / "map" / "pca.safetensors").stat().st_mtime_ns
    turned = digits.at(np.arange(len(digits))[::-1])
    again = asked(run, turned).drawn
    assert (run / "map" / "pca.safetensors").stat().st_mtime_ns == kept
    assert np.array_equal(again.points[::-1], first.points)
    assert np.abs(first.points).max() <= 1


@pytest.mark.parametrize(("given", "said"), [({"map": "tsne"}, "map of view"), ({"port": -1}, "port of view")])
def test_bad_parameters_are_refused(own, digits, given, said):
    with pytest.raises(wn.errors.WinnowError, match=said):
        wn.view(own("check"), digits, **given)


def test_what_is_no_path_is_refused():
    with pytest.raises(wn.errors.InputError, match="run of view must be"):
        wn.view(3)
