"""Whole gateways: simulated time, which bodies they need, other gateways among their parts."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.commands.clients.status import exit_code, lines
from hilgw.cli.output.text import Style
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import State
from hilgw.engine.reporting.parts import whole
from hilgw.engine.reporting.status import status_of
from hilgw.engine.simulated.event_loop import PacedLoop, in_real_time
from hilgw.engine.simulated.pace import CATCH_UP_NS, Factor, Hold, Holds, SpeedMeter
from hilgw.errors import PortError
from hilgw.events.kinds import Link
from hilgw.protocols.gateway.metrics import text_of
from hilgw.testing.sim import Clock, Recorder, elapse, run
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.tcp.in_process import InProcessNetwork
from hilgw.transports.virtual.pipe import Pipe
from hilgw.units import NS_PER_MS, NS_PER_S
from tests.cli.output.test_federation import EVIL, gateway
from tests.golden.running import Request, run_config
from tests.scenarios import scenario_of

HOUR_S = 3600.0
# Computes, and answers each line with the nanoseconds that it took; ends with its input.
CONTROLLER = """
import sys, time
for line in sys.stdin:
    begin = time.monotonic_ns()
    sum(range(300_000))
    print(f"{time.monotonic_ns() - begin}\\n", end="", flush=True)  # in one piece
"""
FOREVER = "import signal; signal.pause()"

Scenario = Callable[[PacedLoop], Coroutine[Any, Any, Any]]


def run_paced(scenario: Scenario, speed: float | str = "max") -> Any:
    loop = PacedLoop(speed)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(scenario(loop))


def test_a_factor_spreads_simulated_time_over_real_time() -> None:
    real = Clock(50 * NS_PER_S)
    pace = Factor(4, real.now)
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 1.0
    real.time += NS_PER_S // 2
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 0.5
    assert pace.reached(NS_PER_S, 5 * NS_PER_S) == 3 * NS_PER_S
    assert pace.reached(NS_PER_S, 2 * NS_PER_S) == 2 * NS_PER_S  # never past the next callback
    real.time += NS_PER_S // 2 + CATCH_UP_NS // 2  # a little late: caught up
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 0
    assert pace.wait_s(5 * NS_PER_S, 9 * NS_PER_S) == pytest.approx(0.95)
    real.time += 60 * NS_PER_S  # the process was suspended: it does not catch up
    assert pace.wait_s(5 * NS_PER_S, 9 * NS_PER_S) == 0
    assert pace.wait_s(9 * NS_PER_S, 13 * NS_PER_S) == 1.0


def test_a_hold_stops_time_until_it_is_released_or_expires() -> None:
    real, expired = Clock(50 * NS_PER_S), list[Hold]()
    holds = Holds(real.now)
    holds.on_expired = expired.append
    assert holds.wait_s(0, 1) == 0
    patient, quick = holds.hold("patient"), holds.hold("quick", 3 * NS_PER_S)
    assert holds.wait_s(0, 1) == 3.0
    holds.waited()  # too early
    real.time += 3 * NS_PER_S
    assert cast(float, holds.wait_s(0, 1)) > 0  # what came in time is read first
    assert not expired
    holds.waited()
    assert holds.wait_s(0, 1) is None
    assert expired == [quick]
    quick.release()
    patient.release()
    patient.release()
    assert holds.wait_s(0, 1) == 0
    assert holds.reached(7, 9) == 7


def test_the_meter_shows_the_achieved_speed() -> None:
    real, simulated = Clock(50 * NS_PER_S), Clock(50 * NS_PER_S)
    meter = SpeedMeter("max", simulated.now, real.now)
    assert meter.report()["achieved"] is None
    meter.start()
    real.time += NS_PER_S // 2
    simulated.time += 60 * NS_PER_S
    assert meter.report() == {"set": "max", "achieved": 120.0, "real_s": 0.5}
    meter.stop()
    real.time += NS_PER_S
    assert meter.report()["real_s"] == 0.5


# --- the event loop -----------------------------------------------------------------------------


def test_callbacks_run_at_their_exact_times_at_any_speed() -> None:
    def seen_at(speed: float | str) -> list[int]:
        seen: list[int] = []

        async def scenario(loop: PacedLoop) -> None:
            begin = loop.clock.now()

            def tick() -> None:
                seen.append(loop.clock.now() - begin)
                loop.clock.call_at(loop.clock.now() + 7_000_001, tick)

            tick()
            await elapse(0.1)

        run_paced(scenario, speed)
        return seen

    assert seen_at("max") == seen_at(50) == [7_000_001 * n for n in range(15)]


@scenario_of(run_paced)
async def test_a_callback_that_raises_is_reported_and_the_others_run(loop: PacedLoop, /) -> None:
    reports: list[Any] = []
    loop.set_exception_handler(lambda _, report: reports.append(report["exception"]))
    done = asyncio.Event()
    loop.clock.call_at(loop.clock.now() + 1, lambda: 1 // 0)
    loop.clock.call_at(loop.clock.now() + 2, done.set)
    assert await asyncio.wait_for(done.wait(), HOUR_S)
    assert [type(each) for each in reports] == [ZeroDivisionError]


def child(program: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    process = subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs)
    theirs.close()
    return process, ours


@pytest.mark.process
@scenario_of(run_paced)
async def test_time_waits_for_a_process_that_holds_it(loop: PacedLoop, /) -> None:
    """The controller computes in real time; its steps take the simulated time that they should."""
    answered: list[int] = []
    process, connection = child(CONTROLLER)
    begin = loop.clock.now()
    with process, connection:
        for step in range(5):
            hold = loop.holds.hold("rover")
            await loop.sock_sendall(connection, b"%d\n" % step)
            assert int(await loop.sock_recv(connection, 100)) > 0
            hold.release()
            answered.append(loop.clock.now() - begin)
            await elapse(0.032)
    assert answered == pytest.approx([32 * NS_PER_MS * n for n in range(5)], abs=100)


@pytest.mark.process
@scenario_of(run_paced)
async def test_a_frozen_process_is_waited_for_no_longer_than_its_deadline(
    loop: PacedLoop, /
) -> None:
    expired: list[str] = []
    loop.holds.on_expired = lambda hold: expired.append(hold.holder)
    process, connection = child(FOREVER)
    with process, connection:
        try:
            loop.holds.hold("rover", 50 * NS_PER_MS)
            begin = loop.real_timer.now()
            await elapse(HOUR_S)
            assert loop.real_timer.now() - begin >= 50 * NS_PER_MS
        finally:
            process.kill()
    assert expired == ["rover"]


@scenario_of(run_paced)
async def test_a_gateway_names_whom_time_goes_on_without(loop: PacedLoop, /) -> None:
    seen = Recorder()
    gateway = build(load_text("version: 1\nspeed: max\n", "f").config, loop, seen)
    loop.holds.hold("rover.controller", 2 * NS_PER_MS)
    await elapse(HOUR_S)
    gateway.close()
    text = "no request for 0.002 s: simulated time goes on without it"
    assert seen.notices == [text]


@scenario_of(run_paced, 1000)
async def test_holds_have_no_effect_at_another_speed(loop: PacedLoop, /) -> None:
    loop.holds.hold("rover")
    await elapse(1)


@scenario_of(run_paced)
async def test_deadlines_of_other_processes_are_in_real_time(loop: PacedLoop, /) -> None:
    begin = loop.real_timer.now()
    hours = asyncio.create_task(elapse(1000 * HOUR_S))
    with pytest.raises(TimeoutError):
        await in_real_time(loop.create_future(), 0.05)
    hours.cancel()
    assert loop.real_timer.now() - begin >= 50 * NS_PER_MS


STEP_NS = 32 * NS_PER_MS


def deadline(loop: PacedLoop, other: socket.socket) -> None:
    loop.clock.call_at(loop.clock.now() + STEP_NS, lambda: None)


OBSTACLES: dict[str, tuple[Callable[[PacedLoop, socket.socket], object], bool]] = {
    "nothing": (lambda loop, other: None, True),
    "a deadline at the step end": (deadline, False),
    "a later deadline": (lambda loop, other: loop.clock.call_at(2**62, lambda: None), True),
    "a hold": (lambda loop, other: loop.holds.hold("another"), False),
    "bytes for another": (lambda loop, other: other.send(b"x"), False),
    "a callback": (lambda loop, other: loop.call_soon(lambda: None), False),
    "a timer": (lambda loop, other: loop.call_later(0.001, lambda: None), False),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the clock advances by itself")
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_callback_advances_time_at_once_only_where_nothing_comes_before(obstacle: str) -> None:
    put, expected = OBSTACLES[obstacle]

    async def scenario(loop: PacedLoop) -> tuple[bool, int]:
        ours, theirs = socket.socketpair()
        waiting, other = socket.socketpair()
        done: list[tuple[bool, int]] = []

        def receive() -> None:
            ours.recv(100)
            put(loop, other)
            begin = loop.clock.now()
            done.append((loop.advance(begin + STEP_NS), loop.clock.now() - begin))
            ended.set()

        with ours, theirs, waiting, other:
            ended = asyncio.Event()
            loop.add_reader(waiting.fileno(), lambda: waiting.recv(100))
            loop.add_reader(ours.fileno(), receive)
            assert not loop.advance(loop.clock.now() + STEP_NS)  # not in a descriptor's callback
            theirs.send(b"step")
            await ended.wait()
            loop.remove_reader(ours.fileno())
            loop.remove_reader(waiting.fileno())
        return done[0]

    assert run_paced(scenario) == (expected, STEP_NS if expected else 0)
    assert run_paced(scenario, 10) == (False, 0)


@scenario_of(run_paced)
async def test_a_network_in_process_delivers_at_once(loop: PacedLoop, /) -> None:
    network, accepted = InProcessNetwork(), list[Any]()
    listener = network.listen("127.0.0.1", 0, lambda stream, peer: accepted.append(stream))
    with pytest.raises(PortError) as absent:
        await network.connect("127.0.0.1", 50_001)
    assert absent.value.reason == PortError.ABSENT
    await listener.start()
    with pytest.raises(PortError) as busy:
        await network.listen("127.0.0.1", listener.port, print).start()
    assert busy.value.reason == PortError.BUSY
    client, got = await network.connect("127.0.0.1", listener.port), bytearray()
    accepted[0].start(got.extend, lambda error: None)
    before = loop.clock.now()
    client.start(lambda data: None, lambda error: None)
    client.write(b"hello")
    await elapse(1e-9)
    assert (bytes(got), loop.clock.now() - before < 10) == (b"hello", True)
    listener.close()
    for stream in (client, accepted[0]):
        stream.close()


SHADOW = Path(__file__).parents[2] / "configs" / "shadow.yaml"
REMOTE, BODY = "rover.remote", "rover"


def ran(tmp_path: Path, mode: str, duration_s: float, *requests: Request) -> str:
    """The shipped configuration in this mode."""
    config = tmp_path / "c.yaml"
    config.write_text(SHADOW.read_text().replace("mode: shadow", f"mode: {mode}"))
    return run_config(str(config), duration_s, requests, terminal=True)


@pytest.mark.parametrize(("mode", "is_needed"), [("simulation", False), ("shadow", True)])
def test_a_body_out_of_use_may_be_away(tmp_path: Path, mode: str, is_needed: bool) -> None:
    text = ran(tmp_path, mode, 1.0, (0.0, {"unplug": REMOTE}))
    assert ("\nready\n" in text) is not is_needed
    assert ("=== ended: in time" in text) is not is_needed


def test_a_remote_body_that_the_controller_has_is_needed(tmp_path: Path) -> None:
    text = ran(tmp_path, "remote", 1.0, (0.0, {"unplug": REMOTE}))
    assert "\nready\n" not in text and "=== ended: in time" not in text


@pytest.mark.parametrize("reason", [PortError.BUSY, PortError.DENIED])
def test_a_remote_body_whose_port_is_taken_at_the_start_is_up_once_it_is_free(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, freed_s = Pipe.open, 3.0

    async def open_later(pipe: Pipe, line: LineSettings) -> Transport:
        if asyncio.get_running_loop().time() < freed_s:
            raise PortError("the port is taken", reason=reason)
        return await opened(pipe, line)

    monkeypatch.setattr(Pipe, "open", open_later)  # the one serial line is that of the remote body
    ask = {"do": "mode", "robot": "rover", "mode": "remote"}
    text = ran(tmp_path, "simulation", 12.0, (1.0, ask), (10.0, ask))
    early, late = (line for line in text.splitlines() if line.startswith(json.dumps(ask)))
    assert '"error": "rover: the remote body is not connected; connect it' in early
    assert '"ok": true' in late and '"remote": "up"' in late
    assert "=== ended: in time" in text


def test_a_remote_body_that_the_controller_has_ends_the_gateway_when_its_port_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def taken(pipe: Pipe, line: LineSettings) -> Transport:
        raise PortError("the port is taken", reason=PortError.BUSY)

    monkeypatch.setattr(Pipe, "open", taken)
    assert "=== ended: PortError" in ran(tmp_path, "remote", 1.0)


BATTERY = """
version: 1
backend: mock
webots: R2025a
robots:
  create:
    body:
      kind: create2
      port: /dev/ttyUSB0
      sensors:
        charge: {packet: battery_charge, table: [[0, 0, 0], [2696, 139761, 0]]}
      mock: {charge: 0}
    controller:
      kind: webots
      listen: "tcp://127.0.0.1:1234"
      battery_sensor: charge
      mock:
        script: >-
          position 'left wheel motor' inf; position 'right wheel motor' inf;
          velocity 'left wheel motor' 3; velocity 'right wheel motor' 3; step 32 x 0
"""


def test_an_empty_battery_of_the_robot_stops_it_and_ends_the_controller(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(BATTERY)
    text = run_config(str(config), 3.0, terminal=True)
    report = json.loads(text.partition("=== report\n")[2].partition("\n\n===")[0])
    loop = report["control_loops"]["create"]
    assert "create.controller waiting: the battery is empty; listening" in text
    assert loop["stops"] == {"battery": 1} and loop["sensors"] == {"charge": 0.0}
    written = text.partition("=== bytes to create.body (create2)\n")[2].partition("\n\n")[0]
    assert "91 00 5d 00 5d" in written  # it drove until its charge was known
    assert written.splitlines()[-1].startswith("00 91 00 00 00 00 91 00 00 00 00 91 00 00 00 00")


CONFIG = """
version: 1
robots: {rover: {devices: {tx: {node: Emitter, type: radio}}}}
"""


class Others:
    """A federation with a single other gateway."""

    def status(self) -> dict[str, Any]:
        listeners = {EVIL: {"type": "radio", "channels": [1]}}
        gateways = {"bench": gateway(robots={EVIL: []}, listeners=listeners)}
        about = {"name": "sim", "network": "lab", "unreached": {}}
        about["outside"] = {"entered": 0, "dropped": {}}
        return {**about, "gateways": gateways}

    def packets(self) -> dict[str, tuple[int, int]]:
        return {"gateway@bench": (5, 7)}

    def parts(self) -> Iterator[str]:
        yield from ("rover.tx@bench", "radio@bench")

    async def network(self) -> dict[str, Any]:
        return {}


async def made() -> tuple[Gateway, Neighbour]:
    built = build(load_text(CONFIG, "f").config, asyncio.get_running_loop())
    bench = Neighbour("bench", built.lines, "tcp/x", lambda copy, outlet: None, built.medium)
    built.supervisors[bench.name] = bench
    built.federation = Others()
    return built, bench


@scenario_of(run)
async def test_a_gateway_that_is_gone_or_refused_is_not_a_port_that_is_down() -> None:
    built, bench = await made()
    bench.leave(State.FAILED, "speaks version 2")
    assert bench not in built.required()
    status = whole(status_of(built, "f", 1).items())
    port = status["ports"]["gateway@bench"]
    assert (port["state"], port["down"]) == ("failed", False)
    assert (port["received_packets"], port["sent_packets"]) == (5, 7)
    assert exit_code([status]) == 0
    built.close()


@scenario_of(run)
async def test_another_gateway_has_a_state_a_latency_and_names() -> None:
    built, bench = await made()
    bench.latency.add(3 * NS_PER_MS)
    (link,) = (each for each in built.states() if isinstance(each, Link))
    assert (link.name, link.p50_ms, link.counts["dropped"]) == ("gateway@bench", 0.2123, 1)
    assert list(built.hops()["link"]) == ["bench"]
    assert {"gateway@bench", "rover.tx@bench", "radio@bench"} <= {*built.names("part")}
    status = {**whole(status_of(built, "f", 1).items()), "control": "x"}
    shown = lines(status, Style(on=False))
    assert "  federation: sim in the network lab, 1 other gateway" in shown
    assert all(line.isprintable() and len(line) <= 120 for line in shown)
    assert 'hop="link",part="bench"} 1\n' in text_of([({}, status)])
    built.close()
