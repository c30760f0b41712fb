"""The microcontroller in mock time: packets, stalls, reboots, parameters."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks._framing.specs import framing_of
from firmware_mocks.uart_node import create
from hilgw import framing
from hilgw.adapters.base import Received, StationSettings, Transmission
from hilgw.adapters.uart import ADAPTER
from hilgw.framing.length import LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.simulated_rules import size_of
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000
S = 1000 * MS


class OneNode(AirBench):
    """One node: bytes go in at a time, what comes out is kept with its time."""

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        super().__init__(create, parameters, seed=seed)
        self.node = self.modules[0]
        self.run_to(0)

    def run_to(self, until: int) -> None:
        self.run((until - self.now) / MS)

    def send(self, data: bytes, time_ns: int | None = None) -> None:
        if time_ns is not None:
            self.run_to(time_ns)
        self.put(self.node, data)

    @property
    def sent(self) -> list[tuple[int, bytes]]:
        return [(when, data) for when, _, data in self.log]

    @property
    def out(self) -> bytes:
        return b"".join(data for _, data in self.sent)


def frames(spec: Any, *packets: bytes) -> bytes:
    sender = framing.create(spec)
    return b"".join(sender.encode(packet) for packet in packets)


def packets(spec: Any, data: bytes) -> list[bytes]:
    receiver = framing.create(spec)
    received = receiver.feed(data)
    due = receiver.next_deadline()
    return received + (receiver.expire(due) if due is not None else [])


VARIANTS = [
    *framing.SHORT_NAMES,
    "cobs-modbus",
    "slip-x-25",
    LinesSettings(terminator=";;"),
    SlipSettings(crc="crc-32c", crc_order="little", leading_end=False),
    LengthSettings(sync="7F", length_bytes=1, length_counts="frame", crc_from="sync"),
    LengthSettings(length_order="little", length_counts="payload+crc", crc="kermit"),
    LengthSettings(crc="none", max_payload=64),
]


@pytest.mark.parametrize("spec", VARIANTS, ids=str)
@given(data=st.binary(min_size=1, max_size=300), cut=st.integers(0, 700))
def test_the_adapter_and_the_mock_exchange_packets(spec: Any, data: bytes, cut: int) -> None:
    """There and back through both readings: the packet, or refused by the one that sends."""
    common = StationSettings(port="x", baudRate=115200, channel=5)
    settings = ADAPTER.Settings(framing=spec, mock={"mode": "echo"})
    session = ADAPTER.session(settings, common)
    session.open(0)
    bench = OneNode(**ADAPTER.mock(settings, common).parameters)
    sent = session.send(Packet(data=data, channel=5, type="serial", source="tx"), 0)
    if not isinstance(sent, Transmission):
        return
    for chunk in (sent.data[:cut], sent.data[cut:]):
        if chunk:
            bench.send(chunk)
    bench.run_to(bench.now + S)
    assert bench.node.bad == 0
    events = session.receive(bench.out, 0)
    due = session.next_deadline()
    events += session.expire(due) if due is not None else []
    assert events == [Received(data, 5)]


@pytest.mark.parametrize("spec", ["cobs-crc16", "slip-crc16", "hdlc", "length", "length-crc32"])
@given(noise=st.binary(max_size=300))
def test_it_finds_its_way_back_after_noise(spec: str, noise: bytes) -> None:
    bench = OneNode(framing=spec)
    bench.send(noise)
    bench.run_to(S)  # a length frame begun in the noise is given up
    bench.log.clear()
    bench.send(frames(spec, b"may be glued to the noise", b"one", b"two"))
    bench.run_to(2 * S)
    assert packets(spec, bench.out)[-2:] == [b"one", b"two"]


def test_a_frame_too_long_costs_no_memory_and_nothing_behind_it() -> None:
    for spec in ("cobs-crc16", "lines", "slip"):
        bench = OneNode(framing=spec)
        size = size_of(bench.node)
        for _ in range(50):
            bench.send(b"x" * 1000)
        assert size_of(bench.node) < size + 10_000
        bench.send(framing_of(spec).idle + frames(spec, b"after"))
        assert packets(spec, bench.out) == [b"after"]
        assert bench.node.bad == 1
    bench = OneNode(framing="gap:20ms")
    size = size_of(bench.node)
    for ms in range(50):
        bench.send(b"x" * 1000, ms * MS)
    assert size_of(bench.node) < size + 10_000
    bench.send(b"short", S)
    bench.run_to(2 * S)
    assert bench.out == b"short"


def test_what_comes_during_a_stall_waits_as_far_as_there_is_room() -> None:
    frame = frames("cobs-crc16", b"12345")
    bench = OneNode(stall_on="hold", stall_ms=100, buffer=5 * len(frame) + 3)
    bench.send(frames("cobs-crc16", b"hold"))
    for ms in range(8):
        bench.send(frame, ms * MS)
    assert bench.out == b""
    assert bench.node.overrun == 3 * len(frame) - 3
    bench.run_to(100 * MS)
    assert packets("cobs-crc16", bench.out) == [b"12345"] * 5
    bench.send(frame * 2, 200 * MS)  # the first is glued to the piece that was kept of the sixth
    assert packets("cobs-crc16", bench.out) == [b"12345"] * 6
    assert bench.node.bad == 1


def test_flow_control_holds_the_client_before_anything_is_lost() -> None:
    with_it = OneNode(mode="stall", buffer=100, rtscts=1)
    without = OneNode(mode="stall", buffer=100)
    for bench in (with_it, without):
        bench.send(b"x" * 50)
        assert bench.node.clear_to_send
        bench.send(b"x")
    assert not with_it.node.clear_to_send
    assert without.node.clear_to_send
    assert with_it.node.overrun == 0
    with_it.node.reset(S)
    assert with_it.node.clear_to_send


BANNER = b"\r\nboot v1\r\n"


def rebooting(**parameters: Any) -> OneNode:
    return OneNode(banner="\\r\\nboot v1\\r\\n", boot_ms=20, **parameters)


def test_a_reboot_in_the_middle_of_an_answer() -> None:
    bench = rebooting(reboot_on="reset")
    answer = frames("cobs-crc16", b"reset now")
    bench.send(frames("cobs-crc16", b"before"))
    bench.send(frames("cobs-crc16", b"reset now", b"lost with the rest"), S)
    cut = answer[: len(answer) // 2]
    assert bench.out == frames("cobs-crc16", b"before") + cut + BANNER + b"\0"
    bench.send(frames("cobs-crc16", b"too early"), S + 20 * MS - 1)
    assert bench.node.lost == len(frames("cobs-crc16", b"too early"))
    bench.send(frames("cobs-crc16", b"after"), S + 20 * MS)
    assert packets("cobs-crc16", bench.out) == [b"before", b"after"]
    assert bench.node.boots == 1


def test_power_brings_a_banner() -> None:
    bench = rebooting()
    assert bench.out == b""  # it ran before the client connected
    bench.node.switch_off()
    bench.run_to(S)
    bench.send(frames("cobs-crc16", b"nobody is in"))
    assert bench.out == b""
    bench.node.reset(bench.now)
    bench.run_to(bench.now + 20 * MS)
    bench.send(frames("cobs-crc16", b"hello"))
    assert bench.out == BANNER + b"\0" + frames("cobs-crc16", b"hello")


@pytest.mark.parametrize("spec", ["cobs-crc16", "slip-crc16", "hdlc", "length"])
def test_reboots_by_itself_cost_the_frame_under_way_and_no_other(spec: str) -> None:
    bench = rebooting(mode="flood", framing=spec, rate=50, reboot_every_ms=500)
    bench.run_to(5 * S)
    assert bench.out.count(BANNER) == bench.node.boots >= 4
    numbers = [int(text[:6]) for text in packets(spec, bench.out)]
    lives: list[list[int]] = [[]]
    for last, number in pairwise([0, *numbers]):
        if number <= last:
            lives.append([])
        lives[-1].append(number)
    assert [life == list(range(1, len(life) + 1)) for life in lives] == [True] * len(lives)
    assert len(numbers) == bench.node.sent
    assert len(lives) >= bench.node.boots


def test_set_takes_effect_and_refuses_without_a_change() -> None:
    bench = OneNode()
    bench.send(b"\x03h")
    bench.node.set("baudRate", "9600")
    assert bench.node.baud_rate == 9600
    bench.node.set("replies", "hi:ho")
    for name, value in (("baudRate", "1"), ("seed", "3"), ("nothing", "1")):
        with pytest.raises(ValueError, match=name):
            bench.node.set(name, value)
    assert bench.node.baud_rate == 9600
    assert bench.node.settings.mode == "answer"
    bench.send(frames("cobs-crc16", b"glued", b"hi"))  # the half frame was not forgotten
    assert bench.node.bad == 1
    assert packets("cobs-crc16", bench.out) == [b"ho"]


def test_an_answer_the_framing_cannot_carry_is_not_sent() -> None:
    bench = OneNode(framing="lines", replies={"ping": "two\nlines"})
    bench.send(b"ping\n")
    assert (bench.out, bench.node.sent) == (b"", 0)


def test_without_frames_it_echoes_bytes_and_noise_at_another_rate() -> None:
    bench = OneNode(framing="raw", mode="echo")
    bench.send(b"H\0")
    assert bench.out == b"H\0"
    bench.node.host_baud = 9600
    bench.send(b"hello")
    assert len(bench.out) > 2 and b"hello" not in bench.out


def test_it_answers_noise_with_noise_where_it_has_frames() -> None:
    bench = OneNode()
    bench.node.host_baud = 9600
    bench.send(frames("cobs-crc16", b"hello"))
    assert bench.out and b"hello" not in bench.out


def test_a_word_starts_a_flood() -> None:
    bench = OneNode(flood_on="go", rate=50, count=3)
    bench.send(frames("cobs-crc16", b"go"))
    bench.run_to(S)
    assert [int(text[:6]) for text in packets("cobs-crc16", bench.out)] == [1, 2, 3]


def test_a_flood_whose_packets_cannot_be_framed_ends() -> None:
    bench = OneNode(mode="flood", framing={"framing": "lines", "terminator": "a"})
    bench.run_to(S)
    assert (bench.out, bench.node.sent, bench.node.next_deadline()) == (b"", 0, None)


def test_noise_fills_the_line_and_can_be_repeated() -> None:
    first, second, other = (OneNode(seed=seed, mode="noise", baudRate=9600) for seed in (1, 1, 2))
    for bench in (first, second, other):
        bench.run_to(S)
    assert 950 <= len(first.out) <= 970
    assert first.out == second.out != other.out
    assert len(set(first.out)) > 200


def test_a_stalled_flood_goes_on_where_it_stopped() -> None:
    bench = OneNode(mode="flood", rate=1000, stall_on="hold", stall_ms=100)
    bench.run_to(49 * MS)
    bench.send(frames("cobs-crc16", b"hold"))
    before = len(bench.sent)
    bench.run_to(140 * MS)
    assert len(bench.sent) == before
    bench.run_to(S)
    numbers = [int(text[:6]) for text in packets("cobs-crc16", bench.out)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 500


def test_a_full_transmit_buffer_holds_up_its_reading() -> None:
    """The answers are eight times as long as the questions: the line out is the bottleneck."""
    bench = OneNode(replies={"ask": "x" * 400}, baudRate=9600, buffer=300)
    question = frames("cobs-crc16", b"ask")
    for n in range(200):
        bench.send(question, n * 10 * MS)
        assert bench.node.uart.held(bench.now) <= 4096 + 2 * 410
    assert bench.node.overrun > 0
    bench.run_to(60 * S)
    answers = packets("cobs-crc16", bench.out)
    assert set(answers) == {b"x" * 400}
    assert len(answers) == bench.node.received == bench.node.sent
    assert bench.node.received + bench.node.overrun // len(question) >= 195
