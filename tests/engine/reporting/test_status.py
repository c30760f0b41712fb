"""The status of a gateway: rates, ages, losses, hops and latency; large answers part by part."""

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.assemble.gateway import build
from hilgw.cli.commands.clients.status import exit_code, lines, span
from hilgw.cli.output.text import Style
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import BOUNDS_S, Latency
from hilgw.engine.reporting.metrics_server import metrics_of
from hilgw.engine.reporting.parts import TOGETHER, plain, texts, whole
from hilgw.engine.reporting.status import make_in_turns, status_of as parts_of, status_steps
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.events import wire
from hilgw.events.kinds import Status, StatusJson
from hilgw.forms import decode
from hilgw.medium.airs import Airs
from hilgw.testing.conformance.simulated_rules import size_of
from hilgw.testing.sim import FakeTransport, run
from hilgw.units import NS_PER_MS, NS_PER_S
from tests import work
from tests.e2e.control_loop_peers import sensor_data, set_value
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.fakes import StationBench
from tests.scenarios import scenario_of

CONFIG = """
version: 1
robots:
  rover:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1"}
    safety: {armed: true}
adapters: {xb: {kind: uart, port: ./none, framing: slip, baudRate: 9600}}
"""
RADIOS = """
version: 1
medium: {step_ms: 8}
robots:
  a: {devices: {tx: {node: Emitter, type: serial, baudRate: 9600, byteSize: 8}}}
  b:
    devices:
      tx: {node: Emitter, type: serial, channel: 2}
      rx: {node: Receiver, type: serial, sampling_period_ms: 32}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: "-"}
adapters: {xb: {kind: uart, port: ./none, channel: 3}}
"""


def status_of(gateway: Gateway, config: str, clients: int) -> dict[str, Any]:
    return whole(parts_of(gateway, config, clients).items())


class Simulated:
    """A gateway that is not run: its station is attached by hand."""

    def __init__(self, gateway: Gateway, clock: SimulatedClock) -> None:
        self.gateway, self.clock = gateway, clock
        self.station, self.transport = gateway.stations["xb"], FakeTransport()
        gateway.history.start()

    def elapse(self, ms: int) -> None:
        end = self.clock.now() + ms * NS_PER_MS
        while self.clock.step(end):
            pass

    def port(self, name: str = "xb") -> dict[str, Any]:
        port: dict[str, Any] = status_of(self.gateway, "f", 1)["ports"][name]
        return port


def simulated(check: Callable[[Simulated], None], config: str = CONFIG) -> None:
    async def main() -> None:
        clock = SimulatedClock()
        gateway = build(load_text(config, "f").config, asyncio.get_running_loop(), timer=clock)
        try:
            check(Simulated(gateway, clock))
        finally:
            gateway.history.close()
            gateway.close()

    run(main)


@scenario_of(simulated)
def test_rates_are_those_of_the_last_one_to_two_seconds(bench: Simulated, /) -> None:
    bench.gateway.supervisors["xb"].on_ready("uart")
    bench.station.attach(bench.transport)
    assert bench.port()["received_bytes_per_s"] == 0
    for _ in range(30):
        bench.elapse(100)
        bench.station.data_received(b"\xc0abcd\xc0")
        bench.gateway.send("xb", b"12345678", None)
    bench.elapse(50)
    port = bench.port()
    assert port["received_bytes"] == 180
    # From 2 s, after its bytes, to 3.05 s.
    assert port["received_bytes_per_s"] == pytest.approx(60, rel=0.2)
    assert port["received_packets_per_s"] == pytest.approx(10, rel=0.2)
    assert port["sent_packets_per_s"] == pytest.approx(10, rel=0.2)
    assert port["sent_bytes_per_s"] == pytest.approx(100, rel=0.25)
    bench.elapse(3000)
    port = bench.port()
    assert [port[name] for name in port if name.endswith("_per_s")] == [0, 0, 0, 0]
    assert port["received_bytes"] == 180
    assert port["last_byte_s"] == pytest.approx(3.05)


@scenario_of(simulated)
def test_a_port_shows_since_when_it_is_so_and_what_it_lost_last(bench: Simulated, /) -> None:
    supervisor = bench.gateway.supervisors["xb"]
    assert bench.port()["last_loss"] is None
    assert bench.port()["last_byte_s"] is None
    supervisor.on_ready("uart")
    bench.elapse(2000)
    assert (bench.port()["state"], bench.port()["since_s"]) == ("up", 2.0)
    assert bench.port()["down"] is False
    bench.gateway.observer.state("xb", State.RELEASED, "to avrdude (process 7)")
    assert bench.port()["last_loss"] is None
    bench.gateway.observer.state("xb", State.UP, "uart")
    supervisor.on_not_ready("no answer")
    bench.elapse(500)
    supervisor.on_not_ready("no answer to AT")  # the same state
    bench.elapse(1000)
    port = bench.port()
    assert (port["state"], port["reason"]) == ("handshake", "no answer to AT")
    assert port["since_s"] == 1.5
    assert port["last_loss"] == {"what": "port", "reason": "no answer", "age_s": 1.5}
    assert port["down"] is True
    bench.station.statistics.drop("bad_frame", "bad", 1)
    bench.elapse(250)
    assert bench.port()["last_loss"] == {"what": "packet", "reason": "bad_frame", "age_s": 0.25}
    assert status_of(bench.gateway, "f", 0)["losses"]["dropped"] == {"bad_frame": 1}


@scenario_of(simulated, RADIOS)
def test_queues_and_clocks(bench: Simulated, /) -> None:
    gateway = bench.gateway
    for robot in gateway.robots.values():
        robot.start()
    bench.elapse(16)
    before = status_of(gateway, "f", 0)
    assert before["queues"] == {"a.tx": 0, "b.tx": 0, "b.rx": 0, "xb": 0}
    assert gateway.send("a.tx", b"x" * 36, None) is None
    gateway.send("xb", b"waits for its port", None)
    bench.elapse(8)
    status = status_of(gateway, "f", 0)
    assert (status["queues"]["a.tx"], status["queues"]["xb"]) == (1, 1)
    assert status["clocks_s"] == {"gateway": bench.clock.now() / NS_PER_S}
    assert status["mono_ns"] - before["mono_ns"] == 8 * NS_PER_MS


@scenario_of(simulated, CONFIG.replace("kind: wc2ec", "kind: webots"))
def test_a_robot_in_a_simulation_shows_the_time_there(bench: Simulated, /) -> None:
    assert status_of(bench.gateway, "f", 0)["clocks_s"].keys() == {"gateway", "rover.body"}


@scenario_of(simulated)
def test_a_robot_shows_its_body_and_one_that_is_not_there_is_down(bench: Simulated, /) -> None:
    status = status_of(bench.gateway, "f", 3)
    rover = status["robots"]["rover"]
    assert rover["bodies"] == {"body": "down"}
    assert rover["down"] == list(rover["bodies"])
    assert (rover["armed"], rover["latched"], rover["mode"]) == (True, None, None)
    assert rover["late_steps"]["count"] == 0
    for ms in (32, 96, 64):
        bench.gateway.control_loops["rover"].statistics.lateness.add(ms * NS_PER_MS)
    status = status_of(bench.gateway, "f", 3)
    assert status["clients"] == {"control socket": 3}
    assert status["memory_bytes"] is None or status["memory_bytes"] > 1_000_000
    shown = "\n".join(lines(status, Style(on=False)))
    assert "armed, body down" in shown
    assert "3 late steps, up to 96 ms" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b[31m" in "\n".join(lines(status, Style(on=True)))


UP: dict[str, Any] = {"ports": {"xb": {"down": False}}, "robots": {"rover": {"down": []}}}
PORT_DOWN = UP | {"ports": {"xb": {"down": True}}}
BODY_DOWN = PORT_DOWN | {"robots": {"rover": {"down": ["body"]}}}


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([UP, UP], 0),
        ([UP, PORT_DOWN], 4),
        ([PORT_DOWN, BODY_DOWN], 5),
        ([{"control": "/x", "error": "the gateway does not answer"}, PORT_DOWN], 5),
    ],
)
def test_the_exit_code_shows_what_is_down(statuses: list[dict[str, Any]], code: int) -> None:
    assert exit_code(statuses) == code


def test_times_are_short() -> None:
    shown = [span(seconds) for seconds in (0.04, 9.9, 9.99, 59, 61, 3600, 86400 * 900)]
    assert shown == ["0.0 s", "9.9 s", "10 s", "59 s", "1 min", "1 h", "900 d"]


@scenario_of(simulated)
def test_the_counters_are_read_once_a_second_however_much_passes(bench: Simulated, /) -> None:
    bench.gateway.supervisors["xb"].on_ready("uart")
    bench.station.attach(bench.transport)
    counts = []
    for frames in (1, 100):

        def pass_frames(frames: int = frames) -> None:
            for _ in range(10):
                for _ in range(frames):
                    bench.station.data_received(b"\xc0abcd\xc0")
                bench.elapse(200)

        calls = work.calls(pass_frames)
        counts.append(
            {name: n for name, n in calls.items() if name == "statistics.start"}
            | {"counters": calls["gateway.counters"]}
        )
    assert counts[0] == counts[1] == {"statistics.start": 2, "counters": 2}


async def test_the_event_of_more_robots_is_made_in_more_turns_of_the_event_loop() -> None:
    """Few parts in each: a port, a robot and a latency of each of them; its line encodes none."""
    turns = {2: 0, 42: 0}
    for robots in turns:
        bodies = (
            f"  r{n}: {{body: {{kind: wc2ec, connect: 'tcp://h:{n + 1}'}}}}" for n in range(robots)
        )
        config = load_text("version: 1\nrobots:\n" + "\n".join(bodies), "f").config
        gateway = build(config, asyncio.get_running_loop(), timer=SimulatedClock())
        made: list[StatusJson] = []
        make_in_turns(status_steps(gateway, {"more": math.inf}), made.append)
        while not made:
            await asyncio.sleep(0)
            turns[robots] += 1
        line = wire.encode_event(made[0], 1, 2.0, 3)
        assert f'"status":{made[0].status}}}\n'.encode() in line
        event = json.loads(line)
        assert event["status"]["more"] == "Infinity"
        assert event["status"]["robots"].keys() == set(gateway.control_loops)
        gateway.close()
    assert turns[42] - turns[2] == 40 * 3 // TOGETHER
    assert b'"status":{as it is}' in wire.encode_event(StatusJson("{as it is}"), 1, 2.0, 3)


async def test_its_value_is_of_its_declared_type_in_the_gateway_and_on_the_socket() -> None:
    gateway = build(load_text("version: 1", "f").config, asyncio.get_running_loop())
    (made,) = filter(None, status_steps(gateway, {}))
    gateway.close()
    assert decode(type(made), {"status": made.status}) == made
    sent = json.loads(wire.encode_event(made, 1, 2.0, 3))
    read = decode(Status, {"status": sent["status"]})
    assert json.loads(wire.encode_event(read, 1, 2.0, 3)) == sent


# --- the hops -------------------------------------------------------------------------------------


def hop(gateway: Gateway, name: str, part: str) -> tuple[int, list[float]]:
    """How many were counted, and the bounds between which they are, in seconds."""
    status = status_of(gateway, "f", 0)
    latency = status["latency"][name][part]
    bounds, before, bounds_s = [0.0, *status["latency_bounds_s"]], 0, []
    for low, high, count in zip(bounds, bounds[1:], latency["buckets"], strict=False):
        bounds_s += [low, high] if count > before else []
        before = count
    return latency["count"], bounds_s


@scenario_of(simulated, RADIOS)
def test_a_packet_waits_for_the_line_of_its_emitter_and_for_its_sample(bench: Simulated, /) -> None:
    gateway = bench.gateway
    for robot in gateway.robots.values():
        robot.start()
    bench.elapse(16)
    assert gateway.send("a.tx", b"x" * 36, None) is None  # 30 ms at 8 bits each
    bench.elapse(100)
    # It leaves with the step that ends at 48 ms; samples are due at 32 and 64 ms.
    assert hop(gateway, "emitter", "a.tx") == (1, [0.02, 0.05])
    assert hop(gateway, "receiver", "b.rx") == (1, [0.01, 0.02])


def test_a_controller_takes_the_time_from_a_value_to_its_command() -> None:
    loop = FakeLoop()
    loop.robot_comes()
    loop.controller_comes()
    loop.body.data_received(sensor_data(0, 1.0))
    loop.run(30)
    loop.controller.data_received(set_value(1, 5.0))
    latency = loop.statistics.latency
    assert (latency.count, latency.total_ns) == (1, 30 * NS_PER_MS)


def test_the_line_ends_with_the_last_byte_and_the_module_with_its_answer() -> None:
    bench = StationBench(tokens=True, baudRate=9600)
    bench.attach()
    bench.send(b"x" * 96)  # 100 ms at 10 bits each
    bench.scheduler.run(130 * NS_PER_MS)
    bench.station.data_received(b"ack")
    statistics = bench.station.statistics
    assert statistics.line.total_ns == 100 * NS_PER_MS
    assert statistics.module.total_ns == 30 * NS_PER_MS
    assert statistics.latency.total_ns == 130 * NS_PER_MS


@pytest.mark.parametrize("address", [None, "0013A20040A1B2C3"])
def test_the_air_begins_with_the_last_byte_at_the_sender(address: str | None) -> None:
    airs = Airs()
    airs.own("lab", "a", ["0013A20040A1B2C3"] if address else ())
    airs.own("lab", "b", ())
    airs.sent("lab", b"ping", 0, "a", NS_PER_S, line_ns=40)
    airs.origin("lab", "b", "0013A200FFFFFFFF", b"ping", 100)
    assert airs.travelled_ns is None  # of another gateway
    airs.origin("lab", "b", address, b"ping", 100)
    assert airs.travelled_ns == 60


def test_the_air_is_counted_where_the_packet_is_received() -> None:
    bench = StationBench()
    bench.attach()
    bench.airs.own("lab", "other", ())
    bench.airs.sent("lab", b"ping", bench.scheduler.now(), "other", line_ns=NS_PER_MS)
    bench.scheduler.run(3 * NS_PER_MS)
    bench.station.data_received(b"ping")
    assert bench.station.statistics.air.total_ns == 2 * NS_PER_MS


SCENE = """
version: 1
robots:
  ant:
    position: [1, 2, 3]
    devices:
      tx: {node: Emitter, type: infra-red, range: 5, aperture: 2, translation: [0.1, 0, 0]}
      rx: {node: Receiver, type: radio}
obstacles:
  wall: {shape: box, size: [2, 4, 6], position: [7, 8, 9]}
  turret: {shape: cylinder, radius: 1, height: 3, attached_to: ant, position: [0, 0, 1]}
adapters:
  xb: {kind: uart, port: ./none}
  mast: {kind: uart, port: ./another, attached_to: ant, position: [0, 0, 2]}
"""


@scenario_of(simulated, SCENE)
def test_the_scene_has_what_is_where_and_how_far_it_sends(bench: Simulated, /) -> None:
    def scene() -> dict[str, Any]:
        scene: dict[str, Any] = status_of(bench.gateway, "f", 0)["scene"]
        return scene

    shown = scene()
    assert (shown["up"], shown["cone"], shown["mono_ns"]) == (2, 0, bench.clock.now())
    assert list(shown["objects"]) == ["ant", "wall", "xb"]
    assert shown["objects"]["xb"] is None
    sender = {"on": "ant", "type": "infra-red", "range": 5, "aperture": 2}
    assert sender.items() <= shown["emitters"]["ant.tx"].items()
    assert shown["emitters"]["ant.tx"]["position"] == (0.1, 0, 0)
    assert {name: each["on"] for name, each in shown["listeners"].items()} == {
        "ant.rx": "ant",
        "xb": "xb",
        "mast": "ant",
    }
    assert shown["listeners"]["mast"]["position"] == (0, 0, 2)
    assert shown["obstacles"]["wall"]["half"] == (1, 2, 3)
    turret = {"on": "ant", "shape": "cylinder", "half": (1, 1, 1.5), "position": (0, 0, 1)}
    assert turret.items() <= shown["obstacles"]["turret"].items()
    bench.gateway.place("wall", None)
    bench.gateway.set("ant.tx", range=4)
    assert scene()["objects"]["wall"] is None
    assert scene()["emitters"]["ant.tx"]["range"] == 4


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300), st.sampled_from([50, 90, 99]))
def test_percentiles_are_within_two_percent(samples: list[int], percent: int) -> None:
    latency = Latency()
    for sample in samples:
        latency.add(sample)
    exact = sorted(samples)[max(1, -(-len(samples) * percent // 100)) - 1]
    value = latency.percentile_ns(percent)
    assert value is not None
    assert exact <= value <= exact * 1.02 + 1
    assert latency.as_dict()["max_ms"] == round(max(samples) / 1e6, 4)


def test_without_samples_nothing_is_claimed() -> None:
    assert Latency().as_dict() == {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}


def test_memory_is_bounded() -> None:
    latency = Latency()
    for exponent in range(60):
        for step in range(1000):
            latency.add((1 << exponent) + step * max(1, (1 << exponent) // 1000))
    assert latency.count == 60_000
    assert size_of(latency) < 400_000


def test_a_histogram_counts_up_to_each_bound_and_has_the_exact_sum() -> None:
    latency = Latency()
    for ms in (0, 0.011, 0.9, 1.1, 4, 30_000):
        latency.add(round(ms * 1e6))
    histogram = latency.histogram()
    by_bound = dict(zip(BOUNDS_S, histogram["buckets"], strict=True))
    assert (by_bound[0.00001], by_bound[0.001], by_bound[0.002], by_bound[0.005]) == (1, 3, 4, 5)
    assert (by_bound[10.0], histogram["count"]) == (5, 6)
    assert histogram["sum_s"] == 30.006011


def parts() -> Iterator[tuple[str, Any]]:
    yield "one", 1
    yield "none", iter(())
    yield "robots", ((name, {"speed": None}) for name in ("ant", 'b"'))
    yield "deep", iter({"er": iter({"half": (0.5, float("inf"))}.items())}.items())


def test_the_text_of_parts_is_that_of_the_whole() -> None:
    assert "".join(texts(parts())) == json.dumps(whole(parts()), separators=(",", ":"))
    assert "".join(texts(iter(()))) == "{}"


def test_a_plain_text_has_no_number_that_is_not_finite() -> None:
    made = json.loads("".join(texts(parts(), plain)), parse_constant=pytest.fail)
    assert made == whole(parts()) | {"deep": {"er": {"half": [0.5, "Infinity"]}}}
    assert plain([math.nan, "NaN", -math.inf]) == '["NaN","NaN","-Infinity"]'


def most(robots: int, devices: int, kind: str) -> int:
    """The bytecode instructions of the longest part of an answer, without its first one."""
    lines = ["version: 1", "robots:"]
    for robot in range(robots):
        lines += [f"  r{robot}:", "    devices:"]
        lines += [f"      ds{number}: {{node: DistanceSensor}}" for number in range(devices)]
        lines += [f"      m{number}: {{node: RotationalMotor}}" for number in range(devices)]
        lines += ["    controller: {kind: webots, listen: 'tcp://127.0.0.1:0'}"]
    config = load_text("\n".join(lines), "f").config

    async def main() -> int:
        gateway = build(config, asyncio.get_running_loop(), timer=SimulatedClock())
        for loop in map(gateway.control_loops.__getitem__, gateway.control_loops):
            loop.start()
            of = loop.statistics
            of.received([(each.index, 1.5) for each in of.devices.values()], 0)
            of.motors = {f"m{number}": {"velocity": 1.0} for number in range(devices)}
        made = gateway.report_parts() if kind == "report" else parts_of(gateway, "f", 0)
        steps = metrics_of(made.items()) if kind == "metrics" else texts(made.items())
        counts, made_parts = [], list[str | None]()
        while None not in made_parts:
            counts.append(work.instructions(lambda: made_parts.append(next(steps, None))))
        gateway.close()
        assert len(counts) > robots
        return max(counts[:-1])

    return asyncio.run(main())


@pytest.mark.parametrize("kind", ["status", "report", "metrics"])
def test_more_robots_and_devices_make_the_longest_part_hardly_longer(kind: str) -> None:
    """Of 100 robots of 1,000 devices each, one part has less than 40,000 instructions: 1 ms."""
    few = most(2, 5, kind)
    assert most(2, 60, kind) - few < 55 * 20
    assert most(12, 5, kind) - few < 10 * 200
