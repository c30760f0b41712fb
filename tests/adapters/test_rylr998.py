"""The rylr998 adapter: conformance, one command at a time, and errors with words."""

from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.rylr998 import ADAPTER as RYLR998
from hilgw.adapters.rylr998.settings import ByDestination, ByHeader, Modulation
from hilgw.medium.packet import Packet
from hilgw.testing import AdapterConformance, Vector
from hilgw.testing.conformance.simulation import Simulation
from tests.adapters.bench import SessionBench, of

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


@pytest.mark.parametrize("port", ["x", "rfc2217://10.0.0.1:2217"])
def test_a_pause_within_a_packet_ends_it_on_a_line_and_not_on_tcp(port: str) -> None:
    bench = ready(port)
    line = b"+RCV=50,5,HELLO,-99,40\r\n"
    assert bench.take_in(line[:9]) == []
    bench.pass_time(4)
    assert bool(of(base.Received, bench.take_in(line[9:]))) is (port != "x")


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
