"""The hc12, rylr998 and irda_sir adapters: conformance and their own rules; tshark as a judge."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.base import Ready, Received, StationSettings, Transmission
from hilgw.adapters.hc12 import ADAPTER as HC12
from hilgw.adapters.irda_sir import ADAPTER, IrdaSettings
from hilgw.adapters.rylr998 import ADAPTER as RYLR998
from hilgw.adapters.rylr998.settings import ByDestination, ByHeader, Modulation
from hilgw.errors import MismatchError
from hilgw.framing.sir import Sir
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.testing import AdapterConformance, Vector
from hilgw.testing.conformance.simulation import Simulation
from tests.adapters.bench import SessionBench, Side, Variant, World, dropped, of

SECOND = 1_000_000_000


class TestHc12(AdapterConformance):
    adapter = HC12
    settings = {"set_line": "manual", "framing": "slip-crc16"}
    common = {"baudRate": 9600, "channel": 12}
    arrival_s = 20.0
    vectors = (Vector(data=b"123456789", wire=b"\xc0123456789\x29\xb1\xc0"),)


class TestOtherSerialMode(Variant, TestHc12):
    """The module is in AT+U8E1, and in FU1."""

    common = {**TestHc12.common, "parity": "even"}
    mock = {"U": "8E1", "FU": 1}
    far_mock = {"U": "8E1", "FU": 1}


class TestSetByALine(Variant, TestHc12):
    """DTR pulls SET low: mode and power, which the file does not have, stay those of the module."""

    settings = {"set_line": "dtr", "framing": "slip-crc16"}
    mock = {"FU": 1, "P": 3, "U": "8N1"}
    far_mock = mock


def after(seconds: float, mock: dict[str, Any], **settings: Any) -> Side:
    """Return a session and a mock at both ends of a wire without delay, after this time."""
    side = World(HC12, baudRate=9600).add(mock, **{"set_line": "dtr", **settings})
    side.world.run(seconds)
    return side


def test_what_the_file_does_not_ask_for_is_not_written() -> None:
    """All settings of a module survive its power-off."""
    bench = after(5, {"C": 12, "FU": 1, "P": 3})
    (ready,) = bench.of(base.Ready)
    assert "FU1, 9600 baud, +5 dBm" in ready.identity
    assert [text for _, text in bench.writes] == [
        b"AT",
        b"AT+V",
        b"AT+RB",
        b"AT+RC",
        b"AT+RF",
        b"AT+RP",
    ]


@pytest.mark.parametrize("spelling", ["plain", "2.3B", "module", "long"])
def test_what_differs_is_set_and_read_back(spelling: str) -> None:
    bench = after(5, {"spelling": spelling}, mode="FU1", power_dbm=8)
    (ready,) = bench.of(base.Ready)
    assert "channel 012 (437.8 MHz), FU1, 9600 baud, +8 dBm" in ready.identity
    written = [text for _, text in bench.writes if text[3:4] in (b"C", b"P", b"F")]
    assert written == [b"AT+C012", b"AT+P4"]
    assert [event.on for event in bench.of(base.SetLine)] == [False, True, False]
    assert (bench.mock.settings.channel, bench.mock.settings.power) == (12, 4)


def test_range_becomes_the_least_power_that_reaches_it() -> None:
    near, far = after(5, {}, range_m=300.0), after(5, {}, range_m=3000.0)
    assert (near.mock.settings.power, far.mock.settings.power) == (1, 8)


def test_without_command_mode_nothing_is_sent_and_that_is_reported() -> None:
    bench = after(2, {}, set_line="manual")
    assert bench.of(base.Ready)
    assert not bench.writes
    (notice,) = bench.of(base.Notice)
    assert "settings cannot be verified" in notice.text
    assert "(set_line is manual)" in notice.text
    assert "AT+B9600, AT+C012, AT+FU3, AT+U8N1" in notice.text
    silent = after(10, {"set": "high", "C": 12}, set_line="held")
    assert "(set_line is held)" in silent.of(base.Notice)[0].text


def test_held_by_hand_it_only_verifies() -> None:
    bench = after(3, {"set": "low", "C": 12}, set_line="held")
    assert not bench.of(base.Ready)
    assert "release SET" in bench.of(base.Notice)[-1].text
    assert not [text for _, text in bench.writes if text[3:4] not in (b"", b"R", b"V")]
    bench.mock.set("set", "high")
    bench.mock.reset(bench.world.now)
    bench.world.run(4)
    assert bench.of(base.Ready)
    (failed,) = after(3, {"set": "low", "C": 13}, set_line="held").of(base.Failed)
    assert isinstance(failed.error, MismatchError) and "AT+C012" in str(failed.error)


def test_fu4_sends_little_and_seldom() -> None:
    bench = after(8, {"FU": 4, "B": 1200}, mode="FU4", baudRate=1200, framing="slip")
    assert bench.of(base.Ready), bench.events
    assert "the limit in FU4 is 50" in bench.send(bytes(51)).text
    assert "the limit in FU4 is 60" in bench.send(b"\xc0" * 50).text  # as a frame
    packet = b"\xc0" * 5 + bytes(45)
    assert isinstance(bench.send(packet), base.Transmission)
    sent = bench.world.now
    assert bench.send(packet) is None
    due = bench.session.next_deadline()
    assert due is not None and 2 * SECOND < due - sent < 3 * SECOND
    bench.session.expire(due)
    assert bench.session.send(Packet(packet, 12, "radio", "t"), due)


@pytest.mark.parametrize(
    ("settings", "common", "place"),
    [
        ({}, {"channel": 0}, "channel"),
        ({}, {"channel": 128}, "channel"),
        ({}, {"channel": 1, "baudRate": 14400}, "baudRate"),
        ({"mode": "FU2"}, {"channel": 1}, "baudRate"),
        ({"mode": "FU4"}, {"channel": 1, "baudRate": 2400}, "baudRate"),
        (
            {"command_rate": "9600", "set_line": "dtr"},
            {"channel": 1, "baudRate": 19200},
            "command_rate",
        ),
        ({"power_dbm": 8, "range_m": 10.0}, {"channel": 1}, "range_m"),
        ({"range_m": 1e5}, {"channel": 12}, "range_m"),
        ({"set_line": "rts"}, {"channel": 1, "rtscts": True}, "rtscts"),
        ({"framing": "nonsense"}, {"channel": 1}, "framing"),
    ],
)
def test_mistakes_are_placed(settings: dict[str, Any], common: dict[str, Any], place: str) -> None:
    problems = HC12.check(HC12.Settings(**settings), base.StationSettings(port="x", **common))
    assert [problem[0] for problem in problems] == [place]


FAST = Modulation(spreading_factor=7, bandwidth_khz=500)


class TestRylr998(AdapterConformance):
    adapter = RYLR998
    settings = {"address": 50, "modulation": FAST}
    far = {"address": 51, "modulation": FAST}
    common = {"baudRate": 115200, "channel": 5}
    check_bits = 8
    vectors = (
        Vector(
            data=b"HELLO",
            sends=b"AT+SEND=0,5,HELLO\r\n",
            receives=b"+RCV=50,5,HELLO,-99,40\r\n",
            rssi_dbm=-99,
            address="50",
        ),
        Vector(data=b"a,b\r\n,-1,2\r\n+OK", receives=b"+RCV=7,15,a,b\r\n,-1,2\r\n+OK,-40,11\r\n"),
    )


class BesideDamagedPackets(TestRylr998):
    """Modules that report damaged packets from the air at any time, within AT+SEND too."""

    __test__ = False
    mock = {"damaged_ms": 13}


def test_no_packet_is_lost_because_another_one_came_in_damaged() -> None:
    simulation = Simulation(BesideDamagedPackets(), pair=True)
    near, far = simulation.near, simulation.far
    packets = [b"packet %d" % number for number in range(16)]
    for data in packets:
        near.send(data)
    assert simulation.run(30.0, lambda: len(far.received) == len(packets))
    simulation.run(0.1)
    assert [each.data for each in far.received] == packets
    count = near.station.statistics.count
    assert (count.delivered, dict(count.refused)) == (len(packets), {})
    counted = {str(reason) for reason, _ in near.refusals}
    assert counted == {"crc", "rx_header", "rx_over_time"}
    assert near.mock.damaged > len(packets)  # several in each AT+SEND


class RylrSession(SessionBench):
    def send(self, data: bytes = b"hi", channel: int = 5) -> Any:
        return self.session.send(Packet(data, channel, "radio", "test"), self.now)


def ready(port: str = "x", /, **settings: Any) -> RylrSession:
    """A session whose module has answered the whole handshake."""
    common = base.StationSettings(port=port, channel=5, baudRate=settings.pop("baudRate", 115200))
    bench = RylrSession(RYLR998.session(RYLR998.Settings(**settings), common))
    values = {"ADDRESS": "7", "NETWORKID": "5", "BAND": "915000000", "PARAMETER": "9,7,1,12"}
    values |= {"CRFOP": "22", "MODE": "0", "VER": "RYLR998_V1", "UID": "0" * 24}
    queue = bench.open()
    while queue and isinstance(queue[0], base.Write):
        name = queue[0].data.decode().strip()[3:].removesuffix("?")
        answer = f"+{name}={values[name]}" if name else "+OK"
        queue = bench.take_in(answer.encode() + b"\r\n")
    assert [event.addresses for event in bench.of(base.Ready)] == [("7",)]
    return bench


def test_one_command_at_a_time_and_not_before_the_air_is_free() -> None:
    bench = ready()
    assert bench.send() == base.Transmission(b"AT+SEND=0,2,hi\r\n", 1)
    assert bench.send() is None
    assert bench.take_in(b"+OK\r\n") == [base.Delivered(1)]
    assert bench.send() is None  # sooner than the air time can be over
    bench.pass_time(0.1)
    assert bench.send() is None
    bench.pass_time(0.1)
    assert bench.send()


@pytest.mark.parametrize(("code", "reason"), [(5, "length"), (10, "tx_over_time"), (99, "err_99")])
def test_errors_have_words(code: int, reason: str) -> None:
    bench = ready()
    bench.send()
    reported, refused = bench.take_in(b"+ERR=%d\r\n" % code)
    assert isinstance(reported, base.Notice)
    assert refused == base.Refused(1, reason)


@pytest.mark.parametrize(("code", "reason"), [(11, "rx_over_time"), (12, "crc"), (19, "rx_header")])
def test_an_error_of_the_reception_answers_no_command(code: int, reason: str) -> None:
    bench = ready()
    bench.send()
    (lost,) = bench.take_in(b"+ERR=%d\r\n" % code)
    assert isinstance(lost, base.Dropped)
    assert lost.reason == reason and f"(+ERR={code})" in lost.text
    assert bench.take_in(b"+OK\r\n") == [base.Delivered(1)]
    bench.open()  # nor is it one in the handshake
    assert not of(base.Failed, bench.take_in(b"+ERR=%d\r\n" % code))
    assert bench.take_in(b"+OK\r\n") == [base.Write(b"AT+VER?\r\n")]
    (failed,) = bench.take_in(b"+VER=RYLR89C_V1.2.7\r\n")
    assert "this is a RYLR896 or its like (RYLR89C_V1.2.7)" in failed.error.what


def test_a_long_packet_may_precede_the_answer_on_a_slow_line() -> None:
    bench = ready(baudRate=300)
    sent = bench.send()
    bench.pass_time(len(sent.data) * 10 / 300 + 0.2)  # left, and transmitted
    bench.events.clear()
    for byte in b"+RCV=50,240,%s,-50,9\r\n+OK\r\n" % (240 * b"x"):
        bench.take_in(bytes((byte,)))
        bench.pass_time(10 / 300)
    assert bench.events == [base.Received(240 * b"x", 5, -50.0, "50"), base.Delivered(1)]


def test_a_restart_and_a_silence_lose_the_packet_and_shake_hands_again() -> None:
    bench = ready()
    bench.send()
    lost, down, asked = bench.take_in(b"+READY\r\n")
    assert (lost, asked) == (base.Refused(1, "reset"), base.Write(b"AT\r\n"))
    assert isinstance(down, base.NotReady)
    bench = ready()
    bench.send()
    assert bench.pass_time(100)[0] == base.Refused(1, "no_status")


@pytest.mark.parametrize(
    ("settings", "data", "channel", "sent", "line", "received"),
    [
        (
            {"mapping": ByDestination(table={6: "50"}), "destination": "9"},
            b"hi", 6, b"50,2,hi", b"50,1,x", base.Received(b"x", 6, -50.0, "50"),
        ),
        (
            {"mapping": ByHeader()},
            b"hi", -1, b"0,3,\xffhi", b"0,2,\x03x", base.Received(b"x", 3, -50.0, None),
        ),
        (
            {"encoding": "hex"},
            b"\r\n", 5, b"0,4,0D0A", b"1,4,0D0A", base.Received(b"\r\n", 5, -50.0, "1"),
        ),
    ],
)  # fmt: skip
def test_channels_are_networks_destinations_or_a_header_and_data_may_be_hex(
    settings: dict[str, Any],
    data: bytes,
    channel: int,
    sent: bytes,
    line: bytes,
    received: base.Received,
) -> None:
    bench = ready(**settings)
    assert bench.send(data, channel) == base.Transmission(b"AT+SEND=%s\r\n" % sent, 1)
    assert bench.take_in(b"+RCV=%s,-50,9\r\n" % line) == [received]


@pytest.mark.parametrize(
    ("settings", "common", "place"),
    [
        ({}, {"channel": 16}, "channel"),
        ({"network_id": 6}, {}, "network_id"),
        ({"destination": "70000"}, {}, "destination"),
        ({"mapping": ByDestination(table={6: "x"})}, {}, "mapping.table.6"),
        ({"mapping": ByDestination()}, {}, "mapping.table"),
        ({"mapping": ByDestination(table={1: "1", -1: "2"})}, {}, "mapping.table.-1"),
        ({"modulation": Modulation(spreading_factor=11)}, {}, "modulation.spreading_factor"),
        ({"modulation": Modulation(preamble=24)}, {}, "modulation.preamble"),
        ({}, {"baudRate": 230400}, "baudRate"),
        ({}, {"parity": "even"}, "parity"),
    ],
)
def test_mistakes_of_an_rylr998_are_placed(
    settings: dict[str, Any], common: dict[str, Any], place: str
) -> None:
    station = base.StationSettings(**{"port": "x", "channel": 5, **common})
    assert [each[0] for each in RYLR998.check(RYLR998.Settings(**settings), station)] == [place]


MS = 1_000_000


def frame(address: int, data: bytes, control: int = 3, command: int = 0) -> bytes:
    return Sir().encode(bytes((address << 1 | command, control)) + data)


class TestConformance(AdapterConformance):
    adapter = ADAPTER
    common = {"baudRate": 115200, "channel": 3}
    # The rules let an adapter receive its own packets, and cut frames where a part of them is lost:
    # a frame without some of its XBOFs is whole.
    settings = {"echo": False, "extra_bofs": 0}
    largest = 2048
    examples = 15
    vectors = (Vector(data=b"hi", wire=bytes.fromhex("C0 07 03 68 69 C9 11 C1")),)


def packet(data: bytes = b"x", channel: int = 3) -> Packet:
    return Packet(data, channel, "infra-red", "rover.tx", "rover")


def opened(**settings: Any) -> Any:
    line = StationSettings(port="p", channel=3, baudRate=9600)
    session = ADAPTER.session(IrdaSettings(**settings), line)
    assert isinstance(session.open(0)[0], Ready)
    return session


def test_it_waits_its_turn_after_what_it_received() -> None:
    session = opened(turnaround_ms=10)
    assert session.receive(frame(3, b"hello"), 100 * MS) == [Received(b"hello", 3)]
    assert session.send(packet(), 105 * MS) is None
    assert session.next_deadline() == 110 * MS
    assert session.expire(110 * MS) == []
    assert isinstance(session.send(packet(), 110 * MS), Transmission)


def test_it_does_not_speak_into_the_middle_of_a_frame() -> None:
    session = opened(turnaround_ms=10)
    whole = frame(3, b"a long frame")
    session.receive(whole[:15], 100 * MS)
    session.receive(whole[15:18], 108 * MS)
    assert session.send(packet(), 112 * MS) is None


def test_its_own_light_is_not_a_packet_and_no_reason_to_wait() -> None:
    session = opened()
    sent = session.send(packet(b"mine"), 0)
    assert dropped(session.receive(sent.data, 30 * MS)) == ["own_echo"]
    assert isinstance(session.send(packet(b"next"), 41 * MS), Transmission)


def test_addresses_are_channels_and_127_is_everybody() -> None:
    session = opened(echo=False)
    assert session.receive(frame(127, b"all"), 0) == [Received(b"all", BROADCAST)]
    assert dropped(session.receive(frame(4, b"not us"), 0)) == ["other_address"]
    assert dropped(session.receive(frame(3, b"supervisory", control=0x11), 0)) == ["no_packet"]
    sent = session.send(packet(b"to all", BROADCAST), 100 * MS)
    assert sent == Transmission(Sir().encode(b"\xff\x03to all"))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ({"baudRate": 4800}, "baudRate"),
        ({"channel": 127}, "channel"),
        ({"parity": "even"}, "parity"),
    ],
)
def test_what_sir_does_not_allow(line: dict[str, Any], path: str) -> None:
    settings = StationSettings(**{"port": "p", **line})
    assert [problem[0] for problem in ADAPTER.check(IrdaSettings(), settings)] == [path]


@pytest.mark.process
@pytest.mark.judge("tshark", "text2pcap")
def test_tshark_reads_our_frames_and_finds_the_damaged_one(tmp_path: Path) -> None:
    # tshark 4.0 takes a frame in which nothing is escaped for one that was cut short.
    payloads = [b"hello\xc0", bytes(range(256)), b"\x7d\xc0\xc1" * 20]
    damaged = bytearray(frame(3, b"damaged\xc1"))
    damaged[15] ^= 1
    lines = []
    for wire in (*(frame(3, payload) for payload in payloads), bytes(damaged)):
        for offset in range(0, len(wire), 16):
            lines.append(f"{offset:06x} {wire[offset : offset + 16].hex(' ')}")
        lines.append("")
    dump, capture = tmp_path / "dump.txt", tmp_path / "sir.pcap"
    dump.write_text("\n".join(lines) + "\n")
    for command in (
        ["text2pcap", "-q", "-T", "51417,6417", str(dump), str(capture)],
        ["tshark", "-r", str(capture), "-d", "tcp.port==6417,sir", "-V"],
    ):
        shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    verdicts = re.findall(r"Frame check sequence: 0x\w+ \[?(correct|incorrect)", shown.stdout)
    assert verdicts == ["correct", "correct", "correct", "incorrect"], shown.stdout
