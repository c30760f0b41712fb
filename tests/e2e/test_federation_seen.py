"""Two gateways of a federation as a person sees them; all tests look at the same two."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hilgw.client import Gateway as Client
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, Gateway, free_port, run

pytestmark = pytest.mark.process
CONFIG = """
version: 1
robots:
  {robot}:
    devices:
      tx: {{node: Emitter, type: radio, channel: {sends}}}
      rx: {{node: Receiver, type: radio, channel: {receives}}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 20, payload: "-"}}
federation: {{name: {name}, {key}: ["{endpoint}"]}}
"""


class Pair:
    """Both share a folder of control sockets; one records."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.endpoint = folder, f"tcp/{HOST}:{free_port()}"
        (folder / "run").mkdir(mode=0o700)
        parts = ("simulator", "rover", 5, 6, "listen"), ("bench", "anchor", 6, 5, "connect")
        for name, robot, sends, receives, key in parts:
            (folder / name).mkdir()
            (folder / name / "run").symlink_to(folder / "run")
            words = {"name": name, "robot": robot, "sends": sends, "receives": receives, "key": key}
            text = CONFIG.format(**words, endpoint=self.endpoint)
            (folder / name / f"{name}.yaml").write_text(text)
            command = [f"{name}.yaml", "--record", "run.pcapng"]
            stack.enter_context(Gateway(folder / name, command, ready=False))
        wait_until(lambda: self.has_passed("simulator") and self.has_passed("bench"), "packets")

    def has_passed(self, name: str) -> bool:
        """Whether a gateway is there, and has confirmed and sent packets."""
        done = run("status", "--json", "--config", name, cwd=self.folder)
        if done.returncode:
            return False
        others = json.loads(done.stdout)[0]["federation"]["gateways"].values()
        return any(
            each["delivered"] and each["received"] and each["latency"]["count"] for each in others
        )

    def client(self, name: str) -> Client:
        (found,) = (each for each in self.clients() if name in each.label)
        return found

    def clients(self) -> list[Client]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(self.folder / "run"))
            return Client.find_all()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(tmp_path_factory.mktemp("federation"), stack)


def test_the_status_shows_the_other_gateway(pair: Pair) -> None:
    done = run("status", "--config", "simulator", cwd=pair.folder)
    assert done.returncode == 0
    for text in (
        "  gateway@bench   up ",
        "  federation: simulator in the network lab, 1 other gateway\n",
        "    bench up; one way p50 ",
        "      robots: anchor (tx, rx)\n",
        "      listeners: anchor.rx (radio, channel 5)\n",
    ):
        assert text in done.stdout, text
    status = pair.client("simulator").status()
    bench = status["federation"]["gateways"]["bench"]
    assert bench["round_trip_ms"] > 0
    assert abs(bench["clock_offset_s"]) < 1  # one machine
    assert bench["sent"] >= bench["delivered"] > 0
    assert status["latency"]["link"]["bench"]["count"] > 0
    port = status["ports"]["gateway@bench"]
    assert port["received_packets"] > 0 < port["sent_packets"]
    assert port["down"] is False


@pytest.mark.parametrize("asks_sockets", [False, True])
def test_a_scan_lists_both_with_what_they_have(pair: Pair, asks_sockets: bool) -> None:
    words = [] if asks_sockets else ["--connect", pair.endpoint]

    def has_both() -> bool:  # a scan ends after a second, however slow the machine is
        nonlocal found
        done = run("scan", "--network", *words, "--json", cwd=pair.folder)
        found = {each["name"]: each for each in json.loads(done.stdout or "[]")}
        return all(each["robots"] and each["round_trip_ms"] for each in found.values()) and (
            len(found) == 2
        )

    found: dict[str, Any] = {}
    wait_until(has_both, what="both")
    bench = found["bench"]
    assert bench["robots"] == {"anchor": ["tx", "rx"]}
    assert bench["listeners"] == {"anchor.rx": {"type": "radio", "channels": [5]}}
    assert (bench["network"], bench["version"]) == ("lab", 1)


def test_the_metrics_have_the_links(pair: Pair) -> None:
    text = run("metrics", "--config", "bench", cwd=pair.folder).stdout
    assert 'gateway="simulator"} 1.0\n' in text
    assert 'hop="link",part="simulator"' in text
