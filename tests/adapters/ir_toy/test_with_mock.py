"""Session and firmware mock, two readings of the same pages, joined by simulated time and light."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firmware_mocks.air import Air
from firmware_mocks.ir_toy.toy import Mode
from hilgw.adapters import base
from hilgw.adapters.ir_toy import ADAPTER
from hilgw.adapters.ir_toy.settings import ByAddress, Target
from hilgw.medium.packet import Packet
from hilgw.protocols.ir import CODECS
from tests.adapters import bench

MS = 1_000_000
SECOND = 1_000 * MS


class Side(bench.StationSide):
    """One session on one toy. delay_ns: of the line to the toy."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.waiting: list[Packet] = []
        self.delay_ns = 0
        self.sent = 0  # packets that the session has taken

    def handle(self, events: list[base.Event] | None) -> list[base.Event]:
        others = super().handle(events)
        self.pump()
        return others

    def put(self, data: bytes) -> None:
        """The bytes reach the mock after `delay_ns`."""
        put = super().put
        if self.delay_ns:
            self.world.clock.call_at(self.now + self.delay_ns, lambda: put(data))
        else:
            put(data)

    def send(self, data: bytes, channel: int = 4) -> None:
        self.waiting.append(Packet(data=data, channel=channel, type="infra-red", source="s"))
        self.pump()

    def pump(self) -> None:
        """What a station does: the next packet, when the session takes one."""
        while self.waiting and self.sent == len(self.of(base.Delivered)) + len(
            self.of(base.Refused)
        ):
            answer = self.transmit(self.waiting[0])
            if answer is None:
                return
            assert isinstance(answer, base.Transmission), answer
            self.waiting.pop(0)
            self.sent += 1

    @property
    def received(self) -> list[tuple[bytes, int]]:
        return [(event.data, event.channel) for event in self.of(base.Received)]

    @property
    def dropped(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for event in self.of(base.Dropped):
            counts[event.reason] += event.count
        return counts


class World(bench.World):
    side = Side

    def __init__(self) -> None:
        super().__init__(ADAPTER, Air(seed=7), baudRate=115200, channel=4)

    def make(self, mock: dict[str, Any] | None = None, **settings: Any) -> Any:
        return super().make({"ahead": 1} | (mock or {}), **settings)  # as hardware

    def add(self, mock: dict[str, Any] | None = None, **settings: Any) -> Any:
        side = super().add(mock, **settings)
        self.run(0.1)
        return side


def pair(mock: dict[str, Any] | None = None, **settings: Any) -> tuple[World, Side, Side]:
    world = World()
    return world, world.add(**settings), world.add(mock, **settings)


PAIRS = {
    "nec": (b"\x00\x00", b"\x04\x08", b"\xff\xff"),
    "nec2": (b"\x04\x08", b"\xaa\x55"),
    "nec_ext": (b"\x00\x00\x00", b"\x12\x34\x56", b"\xff\xff\xff"),
    "onkyo": (b"\x12\x34\x56\x78", b"\xff\xff\xff\xff"),
    "rc5": (b"\x00\x00", b"\x1f\x7f", b"\x05\x40"),
    "rc6": (b"\x00\x00", b"\x04\x0c", b"\xff\xff"),
    "rc6a": (b"\x00\x00\x00\x00", b"\x3f\xff\xff\xff", b"\x00\x0f\x04\x0c"),
    "sirc": (b"\x00\x00", b"\x01\x15", b"\x1f\x7f"),
    "sirc15": (b"\x01\x15", b"\xff\x7f"),
    "sirc20": (b"\x00\x00\x00", b"\x1f\xff\x7f"),
}


@pytest.mark.parametrize("code", sorted(CODECS))
def test_packets_both_ways_in_every_code(code: str) -> None:
    """Through a receiver that stretches and shifts, several in a row and the same twice."""
    world, one, two = pair({"stretch_us": 80, "jitter_us": 25}, code=code)
    sent = [*PAIRS[code], PAIRS[code][-1]]
    for data in sent:
        one.send(data)
    world.run(2)
    two.send(PAIRS[code][0])
    world.run(1)
    assert two.received == [(data, 4) for data in sent]
    assert one.received == [(PAIRS[code][0], 4)]
    assert one.of(base.Delivered) == [base.Delivered(number + 1) for number in range(len(sent))]
    assert two.dropped == +Counter(repeat=len(sent) * (CODECS[code].traits.sends - 1))


@pytest.mark.parametrize(
    ("code", "ms"), [("nec", 108), ("rc5", 113.8), ("rc6", 106.9), ("sirc", 135)]
)
def test_packets_follow_each_other_at_the_pace_of_their_code(code: str, ms: float) -> None:
    world, one, two = pair(code=code)
    for command in range(20):
        one.send(bytes((1, command)))
    assert world.run(1, lambda: two.received)
    first = world.now
    assert world.run(10, lambda: len(two.received) == 20)
    assert ms <= (world.now - first) / 19 / MS <= ms + 4


def test_a_word_of_bare_timings() -> None:
    world, one, two = pair(code="raw")
    durations = (9000, 4500, 560, 560, 560, 1690, 560)
    one.send(b"".join(us.to_bytes(2, "big") for us in durations))
    world.run(1)
    ((data, channel),) = two.received
    came = [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]
    assert came == pytest.approx(durations, abs=25)
    assert channel == 4


def test_a_channel_is_an_address() -> None:
    mapping = ByAddress(table={1: Target(address=0x20), 2: Target(address=0x21, carrier_hz=56_000)})
    world, one, two = pair(mapping=mapping)
    other = world.add()
    one.send(b"a", 1)
    one.send(b"b", 2)
    world.run(0.3)
    carriers = [data[1] for _, data in one.writes if data[:1] == b"\x06"]
    assert carriers == [78, round(3_000_000 / 56_000) - 1]
    one.send(b"c", -1)
    world.run(1)
    assert two.received == [(b"a", 1), (b"b", 2), (b"c", 1), (b"c", 2)]
    assert [data for data, _ in other.received] == [b"\x20a", b"\x21b", b"\x20c", b"\x21c"]
    assert two.of(base.Received)[0].address == "20"
    other.send(b"\x22x")
    world.run(0.5)
    assert two.dropped == {"address": 1}


def test_without_a_table_the_channel_is_the_address_itself() -> None:
    world, one, two = pair(code="nec_ext", mapping=ByAddress())
    assert one.session.channels is None
    for channel in (0, 300, 65535, -1):
        one.send(b"x", channel)
    world.run(1)
    assert two.received == [(b"x", 0), (b"x", 300), (b"x", 65535), (b"x", 4)]


@pytest.mark.parametrize(
    ("code", "framing"),
    [
        *((code, "cobs-crc16") for code in ("nec", "nec2", "onkyo", "rc5", "sirc")),
        *(("rc6", framing) for framing in ("slip-crc16", "lines", "hdlc", "length", "gap:1s")),
    ],
)
def test_packets_of_bytes(code: str, framing: str) -> None:
    world, one, two = pair({"jitter_us": 20}, code=code, framing=framing)
    sent = [b"hello", b"\0\0\xff\xff", b"\x10\x01"]
    for data in sent:
        one.send(data)
    world.run(20)
    assert two.received == [(data, 4) for data in sent]
    assert two.of(base.Received)[0].address is not None
    assert set(two.dropped) <= {"repeat"}
    assert len(one.of(base.Delivered)) == 3


def test_a_lost_code_costs_one_packet() -> None:
    world, one, two = pair(code="rc5", framing="cobs-crc16")
    one.send(b"spoilt")
    world.run(0.6)
    two.mock.set("jammer", "120:100000")
    two.mock.jammer.start(world.now)
    world.run(0.1)
    two.mock.jammer.stop(world.now)
    one.send(b"sound")
    world.run(8)
    assert two.received == [(b"sound", 4)]
    assert {"bad_crc", "lost_code"} & two.dropped.keys()


def test_an_answer_within_a_tenth_of_a_second_is_received() -> None:
    """A toy left alone is deaf for 0.1 s behind its own light; sample mode entered anew is not."""
    world = World()
    side = world.add({"replies": "rc5:5:12=rc5:5:13", "delay_ms": 20}, code="rc5")
    side.send(b"\x05\x0c")
    world.run(0.2)
    assert side.received == [(b"\x05\x0d", 4)]


def test_a_host_too_slow_is_an_underrun() -> None:
    world, one, two = pair(code="rc6a", sends=3)
    one.delay_ns = 45 * MS
    one.send(b"\x00\x00\x04\x0c")
    world.run(2)
    assert one.of(base.Refused) == [base.Refused(1, "underrun")]
    assert one.mock.player.underruns >= 1
    one.delay_ns = 0
    one.send(b"\x00\x00\x04\x0d")
    world.run(1)
    assert two.received[-1] == (b"\x00\x00\x04\x0d", 4)
    assert one.of(base.Delivered) == [base.Delivered(2)]


@pytest.mark.parametrize("state", [b"", b"s", b"u", b"x", b"\x01", b"\x02\xc0", b"s\x06\x4e"])
@pytest.mark.parametrize("tail", [b"", b"\x03", b"\x26\x03\x00\x20\x00", b"\x30\x01"])
def test_a_toy_in_any_mode_is_brought_back(state: bytes, tail: bytes) -> None:
    world = World()
    side = world.make()
    world.sides.append(side)
    for byte in (*state, *(tail if state == b"s" else b"")):
        side.mock.receive(bytes((byte,)), world.now)
    side.handle(side.session.open(world.now))
    world.run(3)
    assert len(side.of(base.Ready)) == 1
    assert side.mock.mode is Mode.SAMPLE
    assert side.mock.bootloads == 0
    side.send(b"\x04\x08")
    world.run(1)
    assert side.of(base.Delivered) == [base.Delivered(1)]
