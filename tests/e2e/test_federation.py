"""Gateways of a federation as processes: killed, frozen, cut off, and as a person sees them."""

import contextlib
import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import zenoh

from hilgw.client import Gateway as Client
from hilgw.federation import wire
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, Gateway, bench_tool, free_port, run

pytestmark = pytest.mark.process


LEASE_S, MARGIN_S, PATIENCE_S = 1.0, 0.1, 5.0

tool = bench_tool("federation_lab")


@pytest.fixture(scope="module")
def lab() -> Iterator[Any]:
    """Three gateways: a, b and c, of which b can be cut off."""
    made = tool.Lab(rate=30)
    yield made
    made.close()


@contextlib.contextmanager
def nodes(*settings: dict[str, Any]) -> Iterator[list[Any]]:
    made = [tool.Node(**each) for each in settings]
    try:
        yield made
    finally:
        for each in made:
            each.close()


def up(*made: Any) -> None:
    pairs = list(permutations(made, 2))
    wait_until(lambda: all(one.sees(other.name) for one, other in pairs), what="all gateways up")


def delivered(node: Any, other: str) -> int:
    counts = node.ask("counts")["stations"].get(f"radio@{other}", {})
    return int(counts.get("delivered", 0))


def test_a_killed_gateway_is_seen_by_liveliness(lab: Any) -> None:
    """Within 50 ms on a machine that is not busy; the soak has the figures."""
    assert lab.kill() < PATIENCE_S
    lab.check()


def test_a_frozen_gateway_is_seen_within_the_lease(lab: Any) -> None:
    assert LEASE_S / 2 < lab.freeze() < LEASE_S + MARGIN_S + PATIENCE_S
    lab.check()


@pytest.mark.parametrize("silent", [True, False])
def test_a_partition_is_seen_and_heals(lab: Any, silent: bool) -> None:
    assert lab.partition(silent=silent) < LEASE_S + MARGIN_S + PATIENCE_S
    lab.check()


def session(endpoint: str, mode: str = "client", **more: Any) -> Any:
    config = zenoh.Config()
    given = {"mode": mode, "scouting/multicast/enabled": False, **more}
    given.setdefault("connect/endpoints", [endpoint])
    for key, value in given.items():
        config.insert_json5(key, json.dumps(value))
    return zenoh.open(config)


def test_what_another_program_puts_is_counted_and_has_no_effect(lab: Any) -> None:
    a, others = lab.nodes["a"], lab.nodes["c"].ask("counts")["gateways"].items()
    ids = {name: int(each["id"], 16) for name, each in others}
    base = "hilgw/lab"
    with session(f"tcp/{HOST}:{lab.ports['a']}") as other:
        for number in (0, 1 << 31, 1 << 63):
            more = wire.trailer(ids["b"], 0, [(ids["a"], number)])
            other.put(f"{base}/packet/b/radio/5", b"forged", attachment=more)
        for data in (b"", b"\0\1", b"{" * 4000, b"\xff" * 40):
            other.put(f"{base}/packet/b/radio/5", b"x", attachment=data)
            for key in ("state/b", "sent/b", "pose/b/sender"):
                other.put(f"{base}/{key}", data, attachment=data)
        other.put(f"{base}/state/b", b"x" * 3_000_000)
        leaving = wire.GatewayState(f"{ids['b']:016x}", revision=1 << 60, leaving=True)
        other.put(f"{base}/state/b", wire.encode_json(leaving))
        query = wire.LinkQuery("b", f"{ids['b']:016x}", {"radio": 1 << 40})
        for data in (wire.encode_json(query), b"{", b"x" * 100_000):
            list(other.get(f"{base}/link/a", payload=data, timeout=5.0))
        members = [f"{base}/member/{name}/{each:016x}/1" for name in "abc" for each in range(50)]
        tokens = [other.liveliness().declare_token(each) for each in members]
        wait_until(lambda: a.ask("counts")["summary"]["outside"]["dropped"].get("malformed", 0) > 4)
        lab.check()
        del tokens
    assert all(each.process.poll() is None for each in lab.nodes.values())
    lab.check()


def test_at_the_end_the_counts_of_all_add_up(lab: Any) -> None:
    """Last of those that share the gateways: all end by themselves."""
    total = lab.check()
    assert total["delivered"] > 100
    for node in lab.nodes.values():
        last = node.end()
        assert (last["doubled"], last["disordered"], last["violations"]) == (0, 0, [])
        assert node.process.returncode == 0


def test_a_frozen_gateway_does_not_hold_up_the_others() -> None:
    """At a rate that fills its buffers long before it is known to be frozen."""
    port = free_port()
    first = {"name": "a", "listen": [f"tcp/{HOST}:{port}"], "rate": 2000, "size": 4000}
    others = [{"name": name, "connect": [f"tcp/{HOST}:{port}"]} for name in ("b", "c")]
    with nodes(first, *others) as (a, b, c):
        up(a, b)
        up(a, c)
        wait_until(lambda: delivered(a, "c") > 100)
        b.signal(signal.SIGSTOP)
        before = delivered(a, "c")
        wait_until(lambda: delivered(a, "c") > before + 1000)
        wait_until(lambda: not a.sees("b"))
        b.signal(signal.SIGCONT)
        wait_until(lambda: a.sees("b"))
        a.ask("pause")
        wait_until(lambda: all(e["unsettled"] == 0 for e in a.ask("counts")["gateways"].values()))
        counts = a.ask("counts")
        assert counts["violations"] == []
        for node in (b, c):
            there = node.ask("counts")
            assert (there["doubled"], there["disordered"]) == (0, 0)
            link = there["gateways"]["a"]
            out = counts["gateways"][node.name]
            assert (out["delivered"], out["lost"]) == (link["received"], link["missed"])


def test_gateways_as_clients_of_one_router() -> None:
    """A zenoh-python session in router mode, as zenohd: each gateway reaches each other one."""
    endpoint = f"tcp/{HOST}:{free_port()}"
    router: dict[str, Any] = {"listen/endpoints": [endpoint], "connect/endpoints": []}
    client = {"mode": "client", "connect": [endpoint], "rate": 100}
    with (
        nodes(*({"name": name, **client} for name in "abc")) as made,
        session(endpoint, "router", **router),
    ):
        up(*made)
        for one, other in permutations(made, 2):
            wait_until(lambda one=one, other=other: delivered(one, other.name) > 10)
        made[2].close()
        wait_until(lambda: not made[0].sees("c"))
        assert made[0].sees("b")
        counts = made[0].ask("counts")
        assert (counts["doubled"], counts["disordered"], counts["violations"]) == (0, 0, [])


def test_an_address_that_another_program_uses_is_a_clear_error() -> None:
    with tool.socket.create_server((HOST, 0)) as taken:
        listen = [f"tcp/{HOST}:{taken.getsockname()[1]}"]
        with nodes({"name": "a", "listen": listen}) as (node,):
            assert node.process.wait(60) == 4
            text = node.process.stderr.read()
    assert text.startswith("federation: ")
    assert "check the endpoints" in text


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
