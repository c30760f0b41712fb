"""Gateways of a federation as processes: killed, frozen, cut off, and as a person sees them."""

import contextlib
import json
import signal
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
import zenoh

from hilgw.federation import wire
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, bench_tool, free_port

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
        for node in made:
            node.close()


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
