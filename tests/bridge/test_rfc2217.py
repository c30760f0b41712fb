"""The RFC 2217 listener: pyserial's client judges, on a port that records what reaches it."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import serial
import serial.rfc2217

from hilgw.bridge.line import BREAK_NS, RESTORE_LOOK_NS, PortLine
from hilgw.bridge.port import HIGH_WATER_BYTES
from hilgw.bridge.rfc2217 import Rfc2217Stream
from hilgw.protocols.rfc2217 import COM_PORT, DO, IAC, WILL
from hilgw.testing.sim import Clock, FakeTransport, wait_until
from hilgw.transports.base import LineSettings
from tests.bridge.rig import BridgeBench, command, violations
from tests.bridge.served import RecordedPort, Served, client_of
from tests.transports.rig import reset

CONFIGURED = LineSettings(115200)


class Hasty:
    """pyserial's client waits for answers, and after close(), in long steps."""

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, 0.002))


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial.rfc2217, "time", Hasty)


@pytest.fixture(scope="module")
def shared() -> Iterator[Served]:
    with Served() as bridge:
        yield bridge


@pytest.fixture
def bridge(shared: Served) -> Iterator[Served]:
    """One bridge for all: each test begins without clients and with the configured line."""
    shared.wait_for(lambda: shared.clients["connected"] == 0 and shared.line == str(CONFIGURED))
    shared.calls.clear()
    shared.log.lines.clear()
    yield shared


def only(bridge: Served, *kinds: str) -> list[tuple[Any, ...]]:
    return [call for call in bridge.calls if call[0] in kinds]


def test_every_setting_is_accepted_and_reaches_the_port(bridge: Served) -> None:
    with client_of(bridge.url, baudrate=9600) as port:
        assert only(bridge, "line")[-1] == ("line", "9600 8N1", False)
        for name, value, line in (
            ("baudrate", 250000, "250000 8N1"),
            ("bytesize", 7, "250000 7N1"),
            ("parity", "E", "250000 7E1"),
            ("parity", "M", "250000 7M1"),
            ("stopbits", 2, "250000 7M2"),
        ):
            setattr(port, name, value)
            assert only(bridge, "line")[-1] == ("line", line, False)
        port.rtscts = True
        assert only(bridge, "line")[-1] == ("line", "250000 7M2", True)
        assert bridge.line == "250000 7M2"
        assert "the line is set to 250000 7M2 with RTS/CTS" in bridge.log.lines


@pytest.mark.parametrize(("name", "value"), [("stopbits", 1.5), ("xonxoff", True)])
def test_what_the_bridge_does_not_support_is_rejected(
    name: str, value: float, bridge: Served
) -> None:
    """XON/XOFF would remove two values from binary data."""
    with client_of(bridge.url) as port, pytest.raises(ValueError, match="rejected"):
        setattr(port, name, value)


def test_a_line_that_the_driver_refuses_is_rejected_and_nothing_changes(bridge: Served) -> None:
    assert isinstance(bridge.port, RecordedPort)
    bridge.port.refuses = replace(CONFIGURED, baudRate=12345)
    with client_of(bridge.url, baudrate=115200) as port:
        with pytest.raises(ValueError, match="rejected"):
            port.baudrate = 12345
        assert bridge.line == str(CONFIGURED)
        assert "the driver does not accept it" in bridge.log.notices


def test_modem_lines_break_and_purge(bridge: Served) -> None:
    """RTS is connected to CTS, and DTR to DSR."""
    with client_of(bridge.url) as port:
        for state in (False, True, False):
            port.rts = state
            wait_until(lambda state=state: port.cts is state)
            port.dtr = state
            wait_until(lambda state=state: port.dsr is state)
        assert (port.ri, port.cd) == (False, False)
        bridge.calls.clear()
        port.break_condition = True
        port.break_condition = False
        port.reset_input_buffer()
        port.reset_output_buffer()
        assert bridge.calls == [
            ("break", True),
            ("break", False),
            ("purge", True, False),
            ("purge", False, True),
        ]


def test_only_a_writer_sets_the_line(bridge: Served) -> None:
    with client_of(bridge.url, baudrate=9600):
        bridge.calls.clear()
        with pytest.raises(ValueError, match="rejected"), client_of(bridge.url, baudrate=19200):
            pass
        assert bridge.calls == []
        assert any("sets nothing: only a writer" in text for text in bridge.log.lines)
        with client_of(bridge.url, baudrate=9600) as second:  # what it wants holds already
            second.write(b"dropped")
            assert only(bridge, "data") == []


def test_the_configured_line_holds_again_when_the_client_has_left(bridge: Served) -> None:
    with client_of(bridge.url, baudrate=9600) as port:
        port.break_condition = True
    bridge.wait_for(lambda: bridge.calls[-1] == ("line", "115200 8N1", False))
    assert only(bridge, "break") == [("break", True), ("break", False)]


def test_a_raw_client_and_an_rfc_2217_client_share_the_port(bridge: Served) -> None:
    with client_of(bridge.url) as port:
        with socket.create_connection(bridge.address(bridge.bridge.where), 5) as raw:
            bridge.wait_for(lambda: bridge.clients["connected"] == 2)
            port.write(b"\xffboth\xff")
            assert port.read(6) == b"\xffboth\xff"
            assert raw.recv(100) == b"\xffboth\xff"
            reset(raw)  # an end alone would keep its place for some time


def test_a_raw_listener_sends_telnet_clients_to_the_other_one(bridge: Served) -> None:
    with socket.create_connection(bridge.address(bridge.bridge.where), 5) as raw:
        raw.sendall(bytes((IAC, DO, 1, IAC, WILL, 3)))
        assert raw.recv(10) == b""
    bridge.wait_for(lambda: any("telnet" in text for text in bridge.log.notices))
    (warning,) = [text for text in bridge.log.notices if "telnet" in text]
    assert f"connect it to {bridge.url}" in warning
    assert only(bridge, "data") == []


def test_a_raw_client_at_this_address_is_named_and_what_it_loses_is_counted() -> None:
    with Served() as bridge:
        with socket.create_connection(bridge.address(bridge.url), 5) as raw:
            raw.sendall(b"\xff\xff\xfd\x00\x01")  # Dynamixel
            bridge.wait_for(lambda: bridge.calls == [("data", b"\xff\xfd\x00\x01")])
            raw.sendall(b"\xff\xf1a\xff\xfa\x02\x03")
            bridge.wait_for(lambda: bridge.bridge.to_serial.received_bytes == 12)
            report = bridge.bridge.report()
            assert violations(report) == []
            assert report["to_serial"]["dropped"] == {"swallowed_bytes": 7}
            assert report["clients"]["each"][0]["to_serial"]["dropped"] == {"swallowed_bytes": 7}
        (notice,) = [text for text in bridge.log.notices if "no telnet" in text]
        assert f"connect it to {bridge.bridge.where}" in notice


def test_a_purge_and_a_reset_get_through_while_the_device_is_stuck() -> None:
    port = RecordedPort()
    with Served(port) as bridge:
        bridge.ask(lambda: setattr(port, "stalled", True))
        with socket.create_connection(bridge.address(bridge.url), 5) as raw:
            raw.sendall(b"a" * (HIGH_WATER_BYTES + 1000))
            bridge.wait_for(lambda: bridge.clients["paused"])
            raw.sendall(b"held")
            raw.sendall(command(5, 9) + command(12, 2) + b"fresh" + command(5, 8))
            bridge.wait_for(lambda: ("dtr", True) in port.calls)
            assert port.calls == [("dtr", False), ("purge", False, True), ("dtr", True)]
            bridge.ask(port.wake)
            bridge.wait_for(lambda: only(bridge, "data") == [("data", b"fresh")])
        dropped = bridge.bridge.to_serial.dropped
        assert dropped == {"purged_bytes": HIGH_WATER_BYTES + 1004}
        flow = bridge.bridge.to_serial
        assert flow.received_bytes == flow.sent_bytes + sum(dropped.values())


def test_what_a_client_that_left_has_written_still_arrives() -> None:
    port = RecordedPort()
    with Served(port) as bridge:
        bridge.ask(lambda: setattr(port, "stalled", True))
        raw = socket.create_connection(bridge.address(bridge.url), 5)
        greeting = bytes((IAC, WILL, COM_PORT))
        raw.sendall(greeting + b"a" * (HIGH_WATER_BYTES + 1000) + b"\xff\xff")
        raw.recv(1000)  # else close() would reset the connection
        raw.close()
        bridge.wait_for(lambda: bridge.bridge.to_serial.received_bytes > HIGH_WATER_BYTES)
        bridge.ask(port.wake)
        bridge.wait_for(lambda: sum(len(call[1]) for call in port.calls) == HIGH_WATER_BYTES + 1001)
        bridge.wait_for(lambda: bridge.clients["connected"] == 0)
        assert bridge.bridge.to_serial.dropped == {}


def test_a_client_may_suspend_what_the_device_sends(bridge: Served) -> None:
    with socket.create_connection(bridge.address(bridge.url), 5) as raw:
        raw.sendall(command(8) + b"\xff\xff" + command(0))
        answers = received(raw, command(100, *b"hilgw"))
        assert b"\xff\xff" not in answers
        bridge.wait_for(lambda: bridge.bridge.to_tcp.received_bytes >= 1)
        raw.sendall(command(9))
        assert received(raw, b"\xff\xff")


def received(connection: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        more = connection.recv(1000)
        assert more, data
        data += more
    return data


class LineOfClients:
    def __init__(self) -> None:
        self.scheduler = Clock()
        self.lines: list[str] = []
        self.notices: list[str] = []
        self.waiting = 0
        self.port = RecordedPort()
        self.line = PortLine(
            CONFIGURED,
            self.scheduler,
            on_line=lambda line: self.lines.append(str(line)),
            waiting_bytes=lambda: self.waiting,
            notify=self.notices.append,
        )

    def wait(self, ns: int) -> None:
        self.scheduler.run(ns)


def test_the_line_is_not_restored_before_the_bytes_are_sent() -> None:
    bench = LineOfClients()
    bench.line.attach(bench.port)
    bench.line.set("baud_rate", 9600, "a")
    bench.waiting = 100
    bench.line.release("a")
    bench.wait(20 * RESTORE_LOOK_NS)
    assert bench.lines == ["9600 8N1"]
    bench.waiting = 0
    bench.wait(4 * RESTORE_LOOK_NS)
    assert bench.lines == ["9600 8N1", "115200 8N1"]
    bench.line.set("baud_rate", 9600, "a")
    bench.line.release("a")
    bench.line.set("baud_rate", 19200, "b")  # another client was faster
    bench.wait(100 * RESTORE_LOOK_NS)
    assert bench.lines[2:] == ["9600 8N1", "19200 8N1"]


def test_a_line_set_while_the_port_is_away_holds_when_it_is_back() -> None:
    bench = LineOfClients()
    assert bench.line.set("parity", "E", "a") == "E"
    bench.line.attach(bench.port)
    assert bench.port.calls == [("line", "115200 8E1", False)]
    bench.line.detach()
    bench.line.attach(bench.port)
    assert bench.port.calls == [("line", "115200 8E1", False)] * 2


@pytest.mark.parametrize("rate", [0, 1 << 31, (1 << 32) - 1])
def test_rates_out_of_range_are_refused(rate: int) -> None:
    bench = LineOfClients()
    bench.line.attach(bench.port)
    assert bench.line.set("baud_rate", rate, "a") == 115200
    assert bench.lines == []


def test_a_break_by_telnet_has_its_usual_length() -> None:
    bench = LineOfClients()
    bench.line.attach(bench.port)
    bench.line.send_break("a")
    bench.wait(BREAK_NS - 1)
    assert bench.port.calls == [("break", True)]
    bench.wait(1)
    assert bench.port.calls == [("break", True), ("break", False)]


def test_a_port_without_line_control_refuses_the_line_and_keeps_the_rest() -> None:
    bench = LineOfClients()
    bench.line.attach(FakeTransport("plain"))
    assert bench.line.set("baud_rate", 9600, "a") == 115200
    assert bench.line.set("dtr", False, "a") is False
    assert bench.line.get("dtr") is False
    assert bench.line.modem_state.cts
    assert bench.notices == [
        "the line of this port cannot be set while it is open",
        "this port has no DTR; clients set it without effect",
    ]


def test_a_client_that_reads_no_answers_is_disconnected() -> None:
    class Full(FakeTransport):
        def write(self, data: bytes) -> None:
            self.full = len(self.data()) + len(data) > 300
            super().write(data)

    bench = BridgeBench()
    line = LineOfClients()
    inner = Full()
    stream = Rfc2217Stream(inner, bench.port, line.line, on_refused=lambda: None)
    bench.clients.add(stream, "127.0.0.1:1", telnet=True)
    for _ in range(1000):
        inner.send(bytes((IAC, DO, 24)))
    assert inner.closed
    assert len(bench.clients) == 0
    assert line.scheduler.waiting <= 1
    line.wait(1_000_000_000)
    assert line.scheduler.waiting == 0  # the modem lines are read without a client
