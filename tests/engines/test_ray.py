"""Ray: the contract, two nodes of which one is killed, a driver that is killed, a machine that is not part of it.

Each test is a process of its own with a cluster of its own, on the loopback interface. Starting one takes from seconds
to a minute, so this file is in `make long`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.ray

OBSERVED = """
import sys, time
import numpy as np
import winnow as wn

def observed(path, engine):
    return wn.observe("digits", "mlp", wn.Recipe(epochs=2), seeds=6, limit=80, out=path, engine=engine)
"""

CONTRACT = """
import winnow as wn
from winnow import testing

print(testing.check_engine(wn.Ray()))
print(testing.check_engine(wn.Ray(workers=1)))
ports = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/self/net/{name}").readlines()[1:]]
import os, ray
mine = set()
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline").read()
        if ray._private.worker._global_node.get_session_dir_path() in words or int(pid) == os.getpid():
            mine |= {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    except OSError:
        pass
heard = {row[1].rsplit(":", 1)[0] for row in ports if row[3] == "0A" and f"socket:[{row[9]}]" in mine}
print(sorted(heard))
"""

TWO_NODES = (
    OBSERVED
    + """
import os
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
other = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
engine = wn.Ray(cluster.address)

class Killing:
    threads = 1

    def map(self, function, items, *, shared=(), needs=None):
        for turn, one in enumerate(engine.map(function, items, shared=shared, needs=needs)):
            if turn == 1:
                cluster.remove_node(other, allow_graceful=False)
            yield one

observed(sys.argv[1], Killing())
import ray, time
for _ in range(120):  # the head takes a while to notice
    alive = len([node for node in ray.nodes() if node["Alive"]])
    if alive == 1:
        break
    time.sleep(0.5)
print(f"\\n{alive} of {len(ray.nodes())}\\n", flush=True)
"""
)

DRIVER = OBSERVED + 'observed(sys.argv[1], wn.Ray(workers=1))\nprint("done")\n'


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.safetensors")}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("local") / "run"
    run(OBSERVED + "observed(sys.argv[1], wn.Local(workers=1))\n", str(path))
    assert len(files(path)) == 6
    return files(path)


def test_contract_and_nothing_is_heard_outside() -> None:
    first, second, heard = run(CONTRACT).splitlines()[-3:]
    assert (first, second) == ("6", "6")
    assert set(eval(heard)) <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert heard != "[]"


def test_a_node_killed_in_the_middle_changes_no_byte(tmp_path: Path, wanted: dict[str, bytes]) -> None:
    said = run(TWO_NODES, str(tmp_path / "run"))
    assert "1 of 2" in said  # Ray itself has much to say about the other
    assert files(tmp_path / "run") == wanted


def test_a_killed_driver_goes_on_where_it_was(tmp_path: Path, wanted: dict[str, bytes]) -> None:
    path = tmp_path / "run"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(path)])
    until = time.monotonic() + 600
    while not list(path.glob("steps/observe/*.json")):
        assert driver.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    kept = {file.name: file.stat().st_mtime_ns for file in path.glob("steps/observe/*.json")}
    assert 1 <= len(kept) < 6
    assert run(DRIVER, str(path)).splitlines()[-1] == "done"
    assert files(path) == wanted
    assert {name: (path / "steps/observe" / name).stat().st_mtime_ns for name in kept} == kept


def test_a_driver_outside_the_cluster(tmp_path: Path, wanted: dict[str, bytes]) -> None:
    """`ray://`: the driver is a client, and its functions and data travel."""
    script = (
        OBSERVED
        + """
import os, socket, subprocess
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
from ray.cluster_utils import Cluster
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
cluster = Cluster(
    initialize_head=True,
    head_node_args={"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": port},
)
os.environ["RAY_ADDRESS"] = f"ray://127.0.0.1:{port}"
observed(sys.argv[1], "ray")
"""
    )
    run(script, str(tmp_path / "run"))
    assert files(tmp_path / "run") == wanted
