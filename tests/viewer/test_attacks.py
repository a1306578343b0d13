"""What an attacker may try: scripts in the data, paths in addresses, other sites, missing tokens, strange bodies."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from starlette.testclient import TestClient

import winnow as wn
from winnow.viewer.guard import LONGEST
from winnow.viewer.server import make_app

TOKEN = "the-token"
OWN = {"origin": "http://127.0.0.1", "x-winnow-token": TOKEN}
SCRIPT = "<script>alert(1)</script>"
EVIL = [SCRIPT, '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "' onmouseover='x", "</title><svg/onload=x>"]
READS = [
    "/api/about",
    "/api/rows",
    "/api/points",
    "/api/colours?by=class",
    "/api/mask",
    "/api/example?row=0",
    "/api/brief?row=0",
    "/api/jobs",
    "/api/run",
    "/api/export?format=csv",
    "/picture/0",
    "/static/app.js",
]
WRITES = [
    ("/api/mark", {"rows": [0], "choice": "drop"}),
    ("/api/undo", {}),
    ("/api/recompute", {"method": "random", "keep": 0.5}),
]


@pytest.fixture
def answers(own, asked):
    return asked(own("check"))


@pytest.fixture
def client(answers):
    return TestClient(
        make_app(answers, TOKEN, port=8080), base_url="http://127.0.0.1:8080", raise_server_exceptions=False
    )


@pytest.fixture
def writer(answers):
    return TestClient(make_app(answers, TOKEN), base_url="http://127.0.0.1", headers=OWN, raise_server_exceptions=False)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:8080", "", "[::1]:8080"],
)
@pytest.mark.parametrize("path", ["/", "/api/about", "/picture/0", "/static/map/map.html"])
def test_a_forged_host_is_refused(client, host, path):
    assert client.get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("path", READS)
def test_other_sites_may_not_read(client, path):
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8080"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ):
        assert client.get(path, headers=headers).status_code == 403, headers
    assert client.get(path).status_code == 200


def test_a_link_from_elsewhere_may_open_the_page_itself(client):
    assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_writing_needs_origin_token_and_json(answers, path, body):
    client = TestClient(make_app(answers, TOKEN), base_url="http://127.0.0.1")
    for headers in (
        {"origin": "http://127.0.0.1"},
        {"origin": "http://127.0.0.1", "x-winnow-token": ""},
        {"origin": "http://127.0.0.1", "x-winnow-token": "another"},
        {"origin": "http://127.0.0.1", "x-winnow-token": TOKEN + "x"},
        {"x-winnow-token": TOKEN},
        {"origin": "http://evil.example", "x-winnow-token": TOKEN},
        {"origin": "null", "x-winnow-token": TOKEN},
    ):
        assert client.post(path, json=body, headers=headers).status_code == 403, headers
    form = {**OWN, "content-type": "application/x-www-form-urlencoded"}
    assert client.post(path, content=json.dumps(body), headers=form).status_code == 415
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.request(method, path, headers=OWN).status_code == 405
    assert client.get(path, headers=OWN).status_code == 405
    assert not answers.marks.path.exists()


def test_a_token_in_the_address_is_worth_nothing(answers):
    client = TestClient(make_app(answers, TOKEN), base_url="http://127.0.0.1", headers={"origin": "http://127.0.0.1"})
    assert client.post(f"/api/mark?token={TOKEN}", json={"rows": [0], "choice": "drop"}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/%2e%2e/view.py",
        "/static//etc/passwd",
        "/static/map/../../guard.py",
        "/static/map/README.md",
        "/static/",
        "/picture/../run.json",
        "/picture/..%2f..%2frun.json",
        "/picture/0/../../run.json",
        "/figure/..%2fstudy",
    ],
)
def test_no_path_leaves_its_folder(writer, path):
    answer = writer.get(path)
    assert answer.status_code in (400, 404)
    assert b"import" not in answer.content
    assert b"settings" not in answer.content


@pytest.mark.parametrize("row", ["-1", "160", "1e3", "0x1", "٣", "1" * 5000, "None", "%00", "1;drop"])
def test_row_numbers_are_numbers(writer, row):
    for path in (f"/picture/{row}", f"/api/example?row={row}", f"/api/brief?row={row}"):
        assert writer.get(path).status_code in (400, 404), path


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"null",
        b"3",
        b'"rows"',
        b"[" * 200_000,
        b'{"rows": "all", "choice": "drop"}',
        b'{"rows": [0]}',
        b'{"rows": [true], "choice": "drop"}',
        b'{"rows": [0.5], "choice": "drop"}',
        b'{"rows": [0], "choice": 3}',
        b'{"rows": [0], "choice": {"a": "b"}}',
        b'{"rows": [0], "choice": [["drop"]]}',
        b'{"rows": [0], "self": "x"}',
        b'{"rows": [0], "__class__": "x"}',
        b'{"rows": [0], "correction": "\\ud800"}',
        b'{"rows": [0], "correction": "' + b"x" * 600 + b'"}',
        b'{"rows": [99999999999999999999], "choice": "drop"}',
        b"\xff\xfe",
    ],
)
def test_malformed_bodies_are_refused(writer, answers, body):
    answer = writer.post("/api/mark", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert not answers.marks.path.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"method": "random", "keep": "0.5; rm"},
        {"method": "random", "keep": float("1e-400")},
        {"method": "--out=/tmp/x", "keep": 0.5},
        {"method": ["random"], "keep": 0.5},
        {"method": "random", "keep": 0.5, "balance": "none --out x"},
    ],
)
def test_recomputation_takes_nothing_but_names_and_numbers(own, asked, body):
    answers = asked(own("prune"))
    client = TestClient(make_app(answers, TOKEN), base_url="http://127.0.0.1", headers=OWN)
    assert client.post("/api/recompute", json=body).status_code == 400
    assert not answers.recomputation.report()


def test_bodies_that_are_too_long_or_have_no_length_are_refused(writer, answers):
    headers = {"content-type": "application/json"}
    long = b'{"rows": [0], "choice": "drop"}' + b" " * LONGEST
    assert writer.post("/api/mark", content=long, headers=headers).status_code == 413

    def pieces():
        yield b'{"rows": [0], "choice": "drop"}'

    assert writer.post("/api/mark", content=pieces(), headers=headers).status_code == 413
    assert not answers.marks.path.exists()


@pytest.mark.parametrize(
    "query",
    ["filter=[", "filter=%7B%22sort%22%3A%22x%22%7D", "start=-1", "start=" + "9" * 30, "count=x", "a=1&b=2", "by=../x"],
)
def test_strange_questions_get_a_sentence(writer, query):
    path = "/api/colours" if query.startswith("by") else "/api/rows"
    answer = writer.get(f"{path}?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_every_answer_is_sealed(client):
    for path in ("/", "/api/about", "/picture/0", "/nowhere", "/static/app.js", "/picture/x"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    refused = client.get("/", headers={"host": "evil.example"})
    assert "default-src 'none'" in refused.headers["content-security-policy"]


def test_the_map_may_compile_code_but_has_no_origin_and_reaches_nothing(client):
    policy = client.get("/static/map/map.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "connect-src" not in policy  # default-src 'none' holds
    assert "allow-same-origin" not in policy


def evil_source() -> wn.artefacts.Source:
    rng = np.random.default_rng(0)
    texts = [f"{EVIL[k % 5]} {' '.join(rng.choice(['red', 'blue', 'green'], 4))}" for k in range(60)]
    ids = [f"{EVIL[k % 5]}{k}" for k in range(60)]
    return wn.open((texts, [EVIL[k % 2] for k in range(60)]), ids=ids, name=SCRIPT)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.found += [tag, *(name for name, _ in attributes)]


def test_scripts_in_the_data_are_never_html(tmp_path, asked, client_of):
    source = evil_source()
    run = tmp_path / "<img src=x onerror=alert(1)>"  # the name of a run is data too
    wn.check(source, recipe=wn.Recipe(epochs=1), out=run)
    client = client_of(asked(run, source))
    page = client.get("/").text
    assert not any(word in page for word in EVIL)  # the page has nothing of the data in it
    for path in READS:
        if path.startswith(("/picture", "/static")):
            continue
        kind = client.get(path).headers["content-type"]
        assert kind.split(";")[0] in ("application/json", "application/octet-stream"), path
    assert client.get("/api/example?row=0").json()["text"].startswith(SCRIPT)  # as it is, for textContent
    with wn.view(run, source) as viewer:
        tags = Tags()
        tags.feed(viewer._repr_html_())
        assert set(tags.found) == {"iframe", "src", "width", "height", "style", "p", "a", "href", "target", "rel"}
    download = client.get("/api/export?format=csv").headers["content-disposition"]
    assert download == 'attachment; filename="view.csv"'
