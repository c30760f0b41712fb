"""The rylr998 adapter: conformance, and what is LoRa's own."""

from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.rylr998 import ADAPTER
from hilgw.adapters.rylr998.session import RylrSession
from hilgw.adapters.rylr998.settings import ByDestination, ByHeader, Modulation
from hilgw.medium.packet import Packet
from hilgw.testing import AdapterConformance, Vector
from hilgw.testing.conformance.simulation import Simulation

FAST = Modulation(spreading_factor=7, bandwidth_khz=500)


class TestRylr998(AdapterConformance):
    adapter = ADAPTER
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
    simulation = Simulation.ready(BesideDamagedPackets(), pair=True)
    near, far = simulation.near, simulation.far
    packets = [b"packet %d" % number for number in range(16)]
    for data in packets:
        near.send(data)
    assert simulation.run_until(lambda: len(far.received) == len(packets), 30.0)
    simulation.run(0.1)
    assert [each.data for each in far.received] == packets
    count = near.station.statistics.count
    assert (count.delivered, dict(count.refused)) == (len(packets), {})
    counted = {str(reason) for reason, _ in near.refusals}
    assert counted == {"crc", "rx_header", "rx_over_time"}
    assert near.mock.damaged > len(packets)  # several in each AT+SEND


# --- what is LoRa's own ---


def ready(port: str = "x", /, **settings: Any) -> RylrSession:
    """A session whose module has answered the whole handshake."""
    common = base.StationSettings(port=port, channel=5, baudRate=settings.pop("baudRate", 115200))
    session = ADAPTER.session(ADAPTER.Settings(**settings), common)
    values = {"ADDRESS": "7", "NETWORKID": "5", "BAND": "915000000", "PARAMETER": "9,7,1,12"}
    values |= {"CRFOP": "22", "MODE": "0", "VER": "RYLR998_V1", "UID": "0" * 24}
    queue = session.open(0)
    while queue:
        event = queue.pop(0)
        if isinstance(event, base.Write):
            name = event.data.decode().strip()[3:].removesuffix("?")
            answer = f"+{name}={values[name]}" if name else "+OK"
            queue += session.receive(answer.encode() + b"\r\n", 0)
        elif isinstance(event, base.Ready):
            assert event.addresses == ("7",)
    return session


@pytest.mark.parametrize("port", ["x", "rfc2217://10.0.0.1:2217"])
def test_a_pause_within_a_packet_ends_it_on_a_line_and_not_on_tcp(port: str) -> None:
    session = ready(port)
    line = b"+RCV=50,5,HELLO,-99,40\r\n"
    assert session.receive(line[:9], 0) == []
    events: list[base.Event] = []
    while (due := session.next_deadline()) is not None and due <= 4_000_000_000:
        events += session.expire(due)
    events += session.receive(line[9:], 4_000_000_000)
    assert any(isinstance(event, base.Received) for event in events) is (port != "x")


def packet(data: bytes = b"hi", channel: int = 5) -> Packet:
    return Packet(data, channel, "radio", "test")


def test_one_command_at_a_time_and_not_before_the_air_is_free() -> None:
    session = ready()
    assert session.send(packet(), 0) == base.Transmission(b"AT+SEND=0,2,hi\r\n", 1)
    assert session.send(packet(), 1) is None
    assert session.receive(b"+OK\r\n", 1000) == [base.Delivered(1)]
    assert session.send(packet(), 1000) is None  # sooner than the air time can be over
    due = session.next_deadline()
    assert due is not None
    assert 100_000_000 < due < 200_000_000
    session.expire(due)
    assert session.send(packet(), due)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(5, "length"), (10, "tx_over_time"), (17, "tx_not_finished"), (99, "err_99")],
)
def test_errors_have_words(code: int, reason: str) -> None:
    session = ready()
    session.send(packet(), 0)
    reported, refused = session.receive(b"+ERR=%d\r\n" % code, 1)
    assert isinstance(reported, base.Notice)
    assert refused == base.Refused(1, reason)


@pytest.mark.parametrize(("code", "reason"), [(11, "rx_over_time"), (12, "crc"), (19, "rx_header")])
def test_an_error_of_the_reception_answers_no_command(code: int, reason: str) -> None:
    session = ready()
    assert session.send(packet(), 0)
    (dropped,) = session.receive(b"+ERR=%d\r\n" % code, 1)
    assert isinstance(dropped, base.Dropped)
    assert (dropped.reason, f"(+ERR={code})" in dropped.text) == (reason, True)
    assert session.receive(b"+OK\r\n", 2) == [base.Delivered(1)]
    # Nor is it one in the handshake.
    session.open(3)
    assert not any(
        isinstance(event, base.Failed) for event in session.receive(b"+ERR=%d\r\n" % code, 4)
    )
    assert session.receive(b"+OK\r\n", 5) == [base.Write(b"AT+VER?\r\n")]


def test_a_long_packet_may_precede_the_answer_on_a_slow_line() -> None:
    session = ready(baudRate=300)
    sent = session.send(packet(), 0)
    assert isinstance(sent, base.Transmission)
    at_ns = len(sent.data) * 10**10 // 300 + 200_000_000  # left, and transmitted
    taken = []
    for byte in b"+RCV=50,240,%s,-50,9\r\n+OK\r\n" % (240 * b"x"):
        taken += session.expire(at_ns) + session.receive(bytes((byte,)), at_ns)
        at_ns += 10**10 // 300
    assert taken == [base.Received(240 * b"x", 5, -50.0, "50"), base.Delivered(1)]


def test_a_restart_and_a_silence_lose_the_packet_and_shake_hands_again() -> None:
    session = ready()
    session.send(packet(), 0)
    events = session.receive(b"+READY\r\n", 1)
    assert events[0] == base.Refused(1, "reset")
    assert isinstance(events[1], base.NotReady)
    assert events[2] == base.Write(b"AT\r\n")
    session = ready()
    session.send(packet(), 0)
    assert session.expire(10**11)[0] == base.Refused(1, "no_status")


def test_an_older_module_is_named_by_its_version() -> None:
    session = ADAPTER.session(ADAPTER.Settings(), base.StationSettings(port="x", channel=5))
    session.open(0)
    session.receive(b"+OK\r\n", 1)
    (failed,) = session.receive(b"+VER=RYLR89C_V1.2.7\r\n", 2)
    assert isinstance(failed, base.Failed)
    assert "this is a RYLR896 or its like (RYLR89C_V1.2.7)" in failed.error.what


def test_channels_are_networks_destinations_or_a_header() -> None:
    table = ByDestination(table={6: "50"})
    session = ready(mapping=table, destination="9")
    assert session.channels == frozenset({5, 6})
    assert session.send(packet(channel=6), 0) == base.Transmission(b"AT+SEND=50,2,hi\r\n", 1)
    (received,) = session.receive(b"+RCV=50,1,x,-50,9\r\n+OK\r\n", 1)[:1]
    assert received == base.Received(b"x", 6, -50.0, "50")
    session = ready(mapping=ByHeader())
    assert session.send(packet(channel=-1), 0) == base.Transmission(b"AT+SEND=0,3,\xffhi\r\n", 1)
    assert session.receive(b"+RCV=0,2,\x03x,-50,9\r\n", 1) == [base.Received(b"x", 3, -50.0, None)]


def test_hex_for_firmware_that_does_not_take_every_byte() -> None:
    session = ready(encoding="hex")
    assert session.send(packet(b"\r\n"), 0) == base.Transmission(b"AT+SEND=0,4,0D0A\r\n", 1)
    assert session.receive(b"+RCV=1,4,0D0A,-50,9\r\n", 1) == [base.Received(b"\r\n", 5, -50.0, "1")]


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
def test_mistakes_are_reported_at_their_place(
    settings: dict[str, Any], common: dict[str, Any], place: str
) -> None:
    station = base.StationSettings(**{"port": "x", "channel": 5, **common})
    assert [each[0] for each in ADAPTER.check(ADAPTER.Settings(**settings), station)] == [place]
