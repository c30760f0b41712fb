"""Each rule finds its defect and reports it; a correct adapter passes all rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from firmware_mocks.air import Air
from hilgw.adapters import base
from hilgw.medium.packet import Packet
from hilgw.testing import AdapterConformance, BrokenRule, Vector
from tests.testing import beep

VECTORS = (
    Vector(data=b"ping", channel=7, receives=beep.frame(b"R", b"\x28\x07ping"), rssi_dbm=-40),
    Vector(data=b"ping", channel=7, sends=beep.frame(b"T", b"\x01\x07ping")),
    Vector(data=bytes((0xA5, 0, 0x28)), receives=beep.frame(b"R", b"\x50\x07\xa5\x00\x28")),
)


class OnBeep(AdapterConformance):
    """What the test of a third party looks like."""

    adapter = beep.BeepAdapter()
    common = {"baudRate": 38400, "channel": 7}
    vectors = VECTORS
    channels = (8,)
    examples = 25

    def make_mock(self, spec: base.MockSpec, name: str, air: Air, position: Any) -> Any:
        assert spec.name == "beep"
        return beep.BeepMock(name, air, spec.parameters, position)


class TestBeep(OnBeep):
    """The sound one: every rule, as pytest finds them."""


RULES = sorted(name for name in dir(OnBeep) if name.startswith("test_"))


class ForgetsShortRests(beep.Decoder):
    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        frames = super().feed(data)
        self.rest = self.rest if len(self.rest) > 3 else b""
        return frames


class SkipsWholeFrame(beep.Decoder):
    def after_false_start(self, begin: int, end: int) -> int:
        return end


class NoCrc(beep.Decoder):
    def holds(self, inner: bytes, crc: bytes) -> bool:
        return inner[:1] == b"R" or super().holds(inner, crc)


class HurriesAnswers(beep.BeepSession):
    """Gives each frame the time of a fast line."""

    def send(self, packet: Packet, now: int) -> base.Transmission | base.CannotSend | None:
        answer = super().send(packet, now)
        if isinstance(answer, base.Transmission):
            self.outstanding[self.frame_id] = now + 200_000_000
        return answer


class StuckDeadline(beep.BeepSession):
    def expire(self, now: int) -> list[base.Event]:
        due = self.silent_at
        events = super().expire(now)
        self.silent_at = due
        return events


class AsksOnce(beep.BeepSession):
    """Believes, when the port is opened again, that all is as it was."""

    def open(self, now: int) -> list[base.Event]:
        if self.tries:
            self.is_open = self.is_ready = True
            return [base.Ready("as before")]
        return super().open(now)

    def close(self) -> list[base.Event]:
        tries, events = self.tries, super().close()
        self.tries = tries
        return events

    def booted(self, now: int) -> list[base.Event]:
        return []


class KeepsALog(beep.BeepSession):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.log: list[object] = []

    def take(self, frames: list[tuple[bytes, bytes]], now: int) -> list[base.Event]:
        self.log += frames
        return super().take(frames, now)


class Shy(beep.BeepSession):
    """Refuses what waited for it to be ready."""

    ready_at = 0

    def take(self, frames: list[tuple[bytes, bytes]], now: int) -> list[base.Event]:
        events = super().take(frames, now)
        if any(isinstance(event, base.Ready) for event in events):
            self.ready_at = now
        return events

    def send(self, packet: Packet, now: int) -> base.Transmission | base.CannotSend | None:
        if now < self.ready_at + 1_000_000:
            return base.CannotSend("down", "give it time")
        return super().send(packet, now)


class SlowToBegin(beep.BeepSession):
    def handle(self, kind: bytes, body: bytes, now: int) -> list[base.Event]:
        if kind == b"I" and self.tries < 4:
            return []  # takes the fourth answer, after 0.9 s
        return super().handle(kind, body, now)


class Unfinished(beep.BeepSession):
    def receive(self, data: bytes, now: int) -> list[base.Event]:
        raise NotImplementedError("hilgw/adapters/beep.py: turn the bytes into events")


def but(name: str, **members: Any) -> type[beep.BeepSession]:
    """Return a sound session with these members instead of its own."""
    return type(name, (beep.BeepSession,), members)


Own = beep.BeepSession
RssiStaysInThePacket = but(
    "RssiStaysInThePacket",
    packet_received=lambda self, body: [base.Received(body[:1] + body[2:], 7, -body[0])],
)
WrongChannelByte = but("WrongChannelByte", channel_byte=lambda self, packet: 8)
OneChannelForAll = but("OneChannelForAll", channel_byte=lambda self, packet: 7)
ChunksAreFrames = but("ChunksAreFrames", Decoder=ForgetsShortRests)
NoSecondLook = but("NoSecondLook", Decoder=SkipsWholeFrame)
BelievesAnything = but("BelievesAnything", Decoder=NoCrc)
Impatient = but("Impatient", silence_after=lambda self, now: now + 100_000)
Patient = but("Patient", silence_after=lambda self, now: None)
CountsNothing = but("CountsNothing", count_bad=lambda self, more=0: [])
Trusting = but(  # an empty body has no first byte
    "Trusting",
    handle=lambda self, kind, body, now: Own.handle(self, kind, body[: body[0] + 9], now),
)
NotAList = but("NotAList", receive=lambda self, data, now: Own.receive(self, data, now) or None)
DescribesRaw = but("DescribesRaw", describe=lambda self, data: f"frame {data.decode('latin-1')}")
DescribesWithItsOwnDecoder = but(
    "DescribesWithItsOwnDecoder",
    describe=lambda self, data: f"{len(self.decoder.feed(data))} frames",
)
Cuts = but(
    "Cuts",
    refusal=lambda self, packet: (
        Own.refusal(self, packet) if len(packet.data) <= beep.PAYLOAD else None
    ),
    payload=lambda self, packet: packet.data[: beep.PAYLOAD],
)
EatsXon = but("EatsXon", payload=lambda self, packet: packet.data.replace(b"\x11", b""))
RangeIsSent = but(
    "RangeIsSent", payload=lambda self, packet: packet.data[:: 1 if packet.range < 0 else -1]
)
Repeats = but(
    "Repeats",
    take=lambda self, frames, now: Own.take(
        self, frames + frames[-1:] if self.frame_id > 1 else frames, now
    ),
)
NeverGivesUp = but(
    "NeverGivesUp",
    next_deadline=lambda self: min(filter(None, (self.ask_at, self.silent_at)), default=None),
)
SettlesTwice = but("SettlesTwice", settle=lambda self, *answer: Own.settle(self, *answer) * 2)
LeavesTokens = but("LeavesTokens", lose=lambda self, reason: self.outstanding.clear() or [])
SendsTooEarly = but(
    "SendsTooEarly", send=lambda self, *given: Own.send(self, *given) or base.Transmission(b"x")
)
TakesForeignChannels = but("TakesForeignChannels", refusal=lambda self, packet: None)


@dataclass(frozen=True)
class Defect:
    """What is broken, which test finds it, which rule it names, and a word of its message."""

    session: type[beep.BeepSession]
    test: str
    rule: str
    word: str = ""

    def __str__(self) -> str:
        return self.session.__name__


SESSIONS = [
    Defect(RssiStaysInThePacket, "vectors_are_received", "vectors are received", "(ping"),
    Defect(WrongChannelByte, "vectors_are_sent", "vectors are sent", "01 08 70"),
    Defect(ChunksAreFrames, "any_chunking_gives_the_same_events", "any chunking", "pieces:"),
    Defect(Impatient, "byte_by_byte_equals_whole", "byte by byte equals whole", "packets:"),
    Defect(NoSecondLook, "garbage_costs_no_good_frame", "garbage costs no good frame", "lost:"),
    Defect(BelievesAnything, "garbage_costs_no_good_frame", "garbage costs", "bytes:"),
    Defect(Patient, "truncated_frame_is_dropped", "a truncated frame is dropped", "lost:"),
    Defect(CountsNothing, "truncated_frame_is_dropped", "a truncated frame", "no Dropped event"),
    Defect(Trusting, "random_bytes_raise_nothing", "raises", "IndexError"),
    Defect(NotAList, "vectors_are_received", "contract", "a list of events"),
    Defect(DescribesRaw, "describe_never_raises", "describe", "printable"),
    Defect(DescribesWithItsOwnDecoder, "describe_never_raises", "describe", "mid-frame"),
    Defect(Cuts, "payload_sizes", "payload sizes", "CannotSend"),
    Defect(EatsXon, "all_byte_values", "all byte values", "unchanged"),
    Defect(Repeats, "packets_keep_their_order", "packets keep their order"),
    Defect(HurriesAnswers, "slow_line", "slow line: 9600 baud", "no_status"),
    Defect(NeverGivesUp, "random_bytes_raise_nothing", "tokens", "are open after"),
    Defect(SettlesTwice, "packets_keep_their_order", "tokens", "each token once"),
    Defect(LeavesTokens, "port_lost_in_mid_frame", "tokens", "close() left"),
    Defect(Shy, "buffer_size_mapping", "mapping of bufferSize", "received"),
    Defect(SendsTooEarly, "random_bytes_raise_nothing", "contract", "until the session is Ready"),
    Defect(StuckDeadline, "truncated_frame_is_dropped", "deadlines", "busy for ever"),
    Defect(AsksOnce, "reset_in_mid_frame", "reset in mid-frame", "after:"),
    Defect(KeepsALog, "buffers_are_bounded", "buffers are bounded", "valid frames"),
    Defect(RangeIsSent, "range_mapping", "mapping of range", "cannot"),
    Defect(OneChannelForAll, "channel_mapping", "mapping of channel", "received on channel 7"),
    Defect(TakesForeignChannels, "channel_mapping", "mapping of channel", "CannotSend"),
    Defect(BelievesAnything, "round_trip_on_a_virtual_port_with_faults", "round trip on a", ""),
    Defect(SlowToBegin, "round_trip_on_a_pipe", "round trip on a pipe", "not Ready within"),
    Defect(SlowToBegin, "round_trip_on_a_virtual_port", "round trip on a virtual port", "Ready"),
    Defect(Unfinished, "vectors_are_received", "filled in", "turn the bytes into events"),
]


def verdict_on(subject: OnBeep, test: str) -> BrokenRule:
    with pytest.raises(BrokenRule) as caught:
        getattr(subject, f"test_{test}")()
    return caught.value


@pytest.mark.parametrize("defect", SESSIONS, ids=lambda defect: f"{defect}-{defect.test}")
def test_a_defect_of_the_session_is_found(defect: Defect) -> None:
    class Broken(beep.BeepAdapter):
        Session = defect.session

    class OnBroken(OnBeep):
        adapter = Broken()
        live_s = 0.5 if defect.session is SlowToBegin else 5.0

    verdict = verdict_on(OnBroken(), defect.test)
    assert verdict.rule.startswith(defect.rule), verdict
    assert defect.word in str(verdict)
    assert "got:" in str(verdict)
    assert "expected:" in str(verdict)


@pytest.mark.parametrize(
    ("rule", "attribute"),
    [
        ("garbage costs no good frame", "noise_costs"),
        ("a truncated frame is dropped", "check_bits"),
        ("vectors are received", "pause_s"),
    ],
)
def test_a_broken_rule_names_the_attribute_that_relaxes_it(rule: str, attribute: str) -> None:
    last = str(BrokenRule(rule, "this", "that", ["bytes:    00"])).splitlines()[-1]
    assert last.startswith("  relax by: ") and attribute in last
    assert hasattr(OnBeep, attribute)
    assert "relax" not in str(BrokenRule("contract", "this", "that"))


def limits(rates: tuple[int, ...] = beep.RATES, *mapping: base.Mapped) -> base.Limits:
    return base.Limits(beep.PAYLOAD, beep.WINDOW, "all", rates, mapping or beep.MAPPING)


def mocked(**parameters: Any) -> Callable[..., base.MockSpec]:
    def mock(self: beep.BeepAdapter, settings: Any, common: Any) -> base.MockSpec:
        return base.MockSpec("beep", {"baudRate": common.baudRate, **parameters})

    return mock


WITHOUT_RANGE = [each for each in beep.MAPPING if each.field != "range, maxRange"]
VAGUE = base.Mapped("aperture", "maybe", "?")
DESCRIBES = "adapter_describes_itself"
ADAPTERS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"summary": "The best module there is."}, DESCRIBES, "the adapter describes", "no full stop"),
    ({"limits": limits((9600, 1200))}, DESCRIBES, "the adapter describes itself", "ascending"),
    (
        {"limits": limits(beep.RATES, *WITHOUT_RANGE)},
        "mapping_is_documented",
        "mapping of range",
        'Mapped("range"',
    ),
    (
        {"limits": limits(beep.RATES, *beep.MAPPING, VAGUE)},
        "mapping_is_documented",
        "mapping of aperture",
        "maybe",
    ),
    (
        {"mock": mocked(baudRate=38400, bits=10)},
        "baud_rate_mapping",
        "mapping of baudRate",
        "the mock runs at 38400",
    ),
    ({"mock": mocked()}, "byte_size_mapping", "mapping of byteSize", "11 bits"),
]


@pytest.mark.parametrize(("changes", "test", "rule", "word"), ADAPTERS)
def test_a_defect_of_the_adapter_is_found(
    changes: dict[str, Any], test: str, rule: str, word: str
) -> None:
    class OnBroken(OnBeep):
        adapter = type("Broken", (beep.BeepAdapter,), changes)()

    verdict = verdict_on(OnBroken(), test)
    assert verdict.rule.startswith(rule)
    assert word in str(verdict)


@pytest.mark.parametrize(
    ("declared", "test", "rule", "got"),
    [
        # by its name, which no package has
        ({"make_mock": AdapterConformance.make_mock}, "payload_sizes", "mock", "beep"),
        (
            {"ready_s": 3.0, "mock": {"boot_ms": 3_600_000}},
            "vectors_are_received",
            "handshake",
            "is not Ready within",
        ),
        (
            {"fits": lambda self, data: False},
            "packets_keep_their_order",
            "packets that fit",
            "no packet of",
        ),
        ({"vectors": VECTORS[1:2]}, "vectors_are_received", "vectors", "has receives or wire"),
        ({"vectors": VECTORS[:1]}, "vectors_are_sent", "vectors", "has sends or wire"),
    ],
)
def test_a_declaration_that_no_rule_can_use_is_reported(
    declared: dict[str, Any], test: str, rule: str, got: str
) -> None:
    verdict = verdict_on(type("OnBroken", (OnBeep,), declared)(), test)
    assert verdict.rule == rule
    assert got in verdict.got, verdict


def test_the_simplest_case_is_shown() -> None:
    class Broken(beep.BeepAdapter):
        Session = NoSecondLook

    class OnBroken(OnBeep):
        adapter = Broken()

    test = "garbage_costs_no_good_frame"
    verdict = verdict_on(OnBroken(), test)
    assert str(verdict) == str(verdict_on(OnBroken(), test))  # the same in each run
    frames = 2 * len(beep.frame(b"R", b"\x28\x07ping")) + 2 * len(
        beep.frame(b"R", b"\x50\x07\xa5\x00\x28")
    )
    (line,) = [line for line in str(verdict).splitlines() if "bytes:" in line]
    assert len(bytes.fromhex(line.split("bytes:")[1])) <= 2 * frames + 4  # noise of a few bytes


def test_every_rule_has_its_defect() -> None:
    tried = {defect.test for defect in SESSIONS} | {test for _, test, _, _ in ADAPTERS}
    assert {f"test_{name}" for name in tried} == set(RULES)
