"""Stations of gateways: frames for observers, addresses they filter, commands, slow lines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hilgw.adapters.base import Received, StationSettings
from hilgw.adapters.uart import ADAPTER as UART
from hilgw.adapters.xbee import ADAPTER as XBEE
from hilgw.config.load import load_text
from hilgw.devices.steps import StepClock
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Direction, FrameEvent, LineEvent, Observer, Observers
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.engine.station.line import LONGEST, FrameTap, ReceiveFilter
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount
from hilgw.testing.sim import Clock, Recorder, elapse, until
from tests.engine.fakes import StationBench, running


@pytest.mark.parametrize(
    "written", ["0013A20040A1B2C3", "00:13:a2:00:40:a1:b2:c3", "0013a200-40a1b2c3"]
)
@pytest.mark.parametrize(
    "address", ["0013A20040A1B2C3", "0013a20040a1b2c3", None, "0013A20040A1B2C4"]
)
def test_sources_are_looked_up_in_one_spelling(written: str, address: str | None) -> None:
    packets: list[Packet] = []
    receive_filter = ReceiveFilter(
        "radio",
        "lab",
        Airs(),
        StationSettings(port="fake", sources={written: "rover"}),
        StationStatistics("xb", Ledger().station("xb"), Observer()),
        Mount("xb"),
        lambda packet, mount: packets.append(packet),
    )
    receive_filter.receive(Received(b"x", 5, address=address), 1)
    known = address is not None and address.upper().endswith("C3")
    assert [packet.owner for packet in packets] == ["rover" if known else None]


A64, B64 = "0013A20040A1B2C3", "0013A20040A1B2C4"


class Modules:
    """Modules a and b with relay, which all receive each other, and the Receiver of a robot.

    addresses: of the modules, or none. sent: (module, bytes) in order.
    """

    def __init__(self, airs: tuple[str, str], addressed: bool, **common: Any) -> None:
        self.medium = Medium(Ledger())
        self.airs = Airs()
        self.now = 0
        self.sent: list[tuple[str, bytes]] = []
        self.receptions: list[bytes] = []
        self.filters: dict[str, ReceiveFilter] = {}
        self.addresses: dict[str, str | None] = {"a": None, "b": None}
        for name, air, address in zip("ab", airs, (A64, B64), strict=True):
            self.airs.own(air, name, (address,) if addressed else ())
            self.addresses[name] = address if addressed else None
            self.filters[name] = ReceiveFilter(
                "radio",
                air,
                self.airs,
                StationSettings(port="fake", relay=True, **common),
                StationStatistics(name, self.medium.ledger.station(name), Observer()),
                Mount(name),
                lambda packet, mount: self.medium.transmit(packet),
            )
            self.medium.attach(
                Listener(
                    name=name,
                    type="radio",
                    deliver=partial(self.send, name, air),
                    air=air,
                    relay=True,
                )
            )
        self.medium.attach(
            Listener(name="rover.rx", type="radio", deliver=self.take, owner="rover")
        )

    def take(self, copy: Copy) -> None:
        self.receptions.append(copy.packet.data)

    def send(self, name: str, air: str, copy: Copy) -> None:
        """The module sends; all others of the room receive it a moment later."""
        self.sent.append((name, copy.packet.data))
        assert len(self.sent) < 100, "a storm"
        self.airs.sent(air, copy.packet.data, self.now, name, owner=copy.packet.owner)
        self.now += 1
        self.receive(copy.packet.data, self.addresses[name], *(set("ab") - {name}))

    def receive(self, data: bytes, address: str | None, *modules: str) -> None:
        for module in modules:
            self.filters[module].receive(Received(data, 5, address=address), self.now)

    def robot_sends(self, data: bytes) -> None:
        self.medium.transmit(Packet(data, 5, "radio", "other.tx", owner="other", sent_ns=self.now))


@pytest.mark.parametrize("addressed", [True, False])
@pytest.mark.parametrize(
    ("airs", "common", "senders"),
    [
        (("x", "x"), {}, ["a"]),
        (("x", "y"), {}, ["a", "b"]),
        (("x", "x"), {"own_echo": "keep"}, ["a"]),
        (("x", "y"), {"own_echo": "keep"}, ["a", "b"]),
    ],
)
def test_modules_that_answer_each_other_raise_no_storm(
    airs: tuple[str, str], common: dict[str, Any], senders: list[str], addressed: bool
) -> None:
    """Each transmission is one more packet for the Receiver where modules receive each other, and
    leaves into no air again."""
    gateway = Modules(airs, addressed, **common)
    gateway.robot_sends(b"ping")
    assert gateway.sent == [(name, b"ping") for name in senders]
    echoes = len(senders) if common or len({*airs}) == 2 else 0
    assert gateway.receptions == [b"ping"] * (1 + echoes)


@pytest.mark.parametrize(
    ("airs", "addressed"), [(("x", "x"), True), (("x", "x"), False), (("x", "y"), True)]
)
def test_no_robot_gets_its_own_packet_by_another(airs: tuple[str, str], addressed: bool) -> None:
    """Webots: an Emitter never sends to Receivers of its own robot."""
    gateway = Modules(airs, addressed, own_echo="keep")
    for owner in ("rover", "other", "rover"):  # in this order out, in this order in
        gateway.medium.transmit(
            Packet(b"ping", 5, "radio", f"{owner}.tx", owner=owner, range=0.0, sent_ns=gateway.now)
        )
    from_simulation = 1  # of the other robot
    through_modules = len({*airs})
    assert gateway.receptions == [b"ping"] * (from_simulation + through_modules)


@pytest.mark.parametrize("addressed", [True, False])
def test_a_foreign_packet_in_overlapping_airs_is_relayed_without_a_storm(addressed: bool) -> None:
    gateway = Modules(("x", "y"), addressed)
    gateway.receive(b"hi", "0013A20041FFFFFF" if addressed else None, "a", "b")
    assert 1 <= len(gateway.sent) <= 2  # once into each air at most


COMMON = StationSettings(port="/dev/null", channel=5)
SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Frames(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Direction, bytes, str]] = []

    def frame(self, event: FrameEvent) -> None:
        words = event.describe(event.data)
        self.seen.append((event.station, event.direction, event.data, words))


def bench_of(session: Any) -> StationBench:
    """A station with this session of an adapter."""
    bench = StationBench()
    bench.station.session = session
    return bench


def gateway(observers: Observers) -> Gateway:
    clock = SimulatedClock()
    medium = Medium(Ledger(), observer=observers)
    schedule = Schedule(clock, StepClock(clock.now()))
    return Gateway(clock, medium, Scene(medium, clock, 2, schedule, observers), observers)


def test_frames_are_events_only_while_they_are_taken() -> None:
    observers, frames = Observers(), Frames()
    bench = bench_of(UART.session(UART.Settings(framing="lines"), COMMON))
    made, station = gateway(observers), bench.station
    made.stations["xb"] = station
    own = FrameTap(lambda *frame: None)
    station.taps.append(own)
    observers.add(frames, ["frame"])
    bench.attach()
    bench.send(b"ping")
    station.data_received(b"po")
    station.data_received(b"ng\n")
    assert bench.transport.written == [b"ping\n"]
    assert [each[:3] for each in frames.seen] == [
        ("xb", SENT, b"ping\n"),
        ("xb", RECEIVED, b"pong\n"),
    ]
    assert "b'pong'" in frames.seen[1][3]
    observers.remove(frames)
    assert station.taps == [own]


def test_what_a_session_writes_by_itself_is_a_frame_and_what_is_cut_off_comes_at_the_end() -> None:
    seen: list[tuple[Direction, bytes]] = []
    bench = bench_of(XBEE.session(XBEE.Settings(), COMMON))
    bench.station.taps.append(FrameTap(lambda *frame: seen.append(frame)))
    bench.attach()
    bench.scheduler.run_until(bench.scheduler.now() + 3_000_000_000)
    assert [(SENT, data) for data in bench.transport.written] == seen != []
    bench.station.data_received(b"\x7e")
    assert seen[-1] != (RECEIVED, b"\x7e")
    bench.station.detach()
    assert seen[-1] == (RECEIVED, b"\x7e")


def test_many_bytes_without_an_event_are_reported_together() -> None:
    seen: list[tuple[Direction, bytes]] = []
    bench = bench_of(UART.session(UART.Settings(framing="lines"), COMMON))
    bench.station.taps.append(FrameTap(lambda *frame: seen.append(frame)))
    bench.attach()
    for _ in range(LONGEST - 1):
        bench.station.data_received(b"x")
    assert seen == []
    bench.station.data_received(b"x")
    assert seen == [(RECEIVED, LONGEST * b"x")]


CONFIGS = Path(__file__).parents[3] / "configs"
REMOTE = "0013A2004AB67FB2"
AT_ONCE = 8  # the module's


class Wire(Recorder):
    """Also the bytes that hilgw sends to the module."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""

    def line_bytes(self, event: LineEvent) -> None:
        if event.direction is Direction.SENT:
            self.sent += event.data


@asynccontextmanager
async def up(
    clock: Clock, observer: Wire, config: str, station: str, *changed: str
) -> AsyncIterator[Gateway]:
    """A gateway of a shipped configuration, once this station is up."""
    text = (CONFIGS / f"{config}.yaml").read_text()
    loaded = load_text(text, "f", changed, "loopback").config
    async with running(loaded, observer, timer=clock) as gateway:
        await until(lambda: gateway.stations[station].ready, 60)
        yield gateway


async def test_of_many_commands_at_once_each_gets_the_answer_to_itself(clock: Clock) -> None:
    """Those that are reported OK, and only those, were written."""
    wire, values = Wire(), [b"n%02d" % number for number in range(AT_ONCE + 4)]
    async with up(clock, wire, "xbee", "xbee0") as gateway:
        reads = [gateway.command("xbee0", REMOTE, name, b"") for name in ("NI", "RR", "NI")]
        ni, rr, again = [each.value for each in await asyncio.gather(*reads)]
        assert ni == again != rr
        asked = (gateway.command("xbee0", REMOTE, "NI", value) for value in values)
        problems = [each.problem for each in await asyncio.gather(*asked)]
    assert problems == [""] * AT_ONCE + ["too many commands at once"] * 4
    assert [value for value in values if b"NI" + value in wire.sent] == values[:AT_ONCE]


async def test_commands_that_a_lost_port_ends_are_all_answered(clock: Clock) -> None:
    async with up(clock, Wire(), "xbee", "xbee0") as gateway:
        asked = (gateway.command("xbee0", REMOTE, "NI", b"") for _ in range(3))
        answers = asyncio.gather(*asked)
        await asyncio.sleep(0)
        for host in gateway.hosts:
            for mock in host.mocks:
                if mock.name == "xbee0":
                    host.unplug(mock)
        problems = [each.problem for each in await answers]
    assert len(problems) == 3 and all(problems)


@pytest.mark.parametrize(
    ("config", "station", "baud"),
    [
        ("xbee-transparent", "stream0", 300),
        ("rylr998", "lora0", 1200),
        ("uart", "uart0", 110),
        ("hc12", "hc12", 1200),
    ],
)
async def test_a_slow_line_that_carries_its_packets_is_not_taken_for_one_that_stands_still(
    config: str, station: str, baud: int, clock: Clock
) -> None:
    """Bytes are pending at each look, and leave."""
    wire, rate = Wire(), f"adapters.{station}.baudRate={baud}"
    async with up(clock, wire, config, station, rate) as gateway:
        await elapse(40)
        assert gateway.stations[station].supervisor.passed.sent > 40 * baud / 10 / 20
    assert not [reason for _, _, reason in wire.states if "takes no bytes" in reason]
