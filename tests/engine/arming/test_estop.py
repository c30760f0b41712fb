"""The emergency-stop switch: on fake lines and a fake clock, on a real thread, over RFC 2217."""

import asyncio
import errno
import os
import pty
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import serial.rfc2217

from hilgw.bridge import line as bridge_line
from hilgw.config.load import load_text
from hilgw.control.events import StopReason
from hilgw.engine.arming import estop
from hilgw.engine.arming.estop import EmergencySwitch
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.errors import SafetyError
from hilgw.testing.sim import DEADLINE_S, Recorder, until, wait_until
from hilgw.transports.base import ModemState
from hilgw.transports.serial import modem_line
from hilgw.transports.serial.modem_line import ModemLine, open_modem_line
from tests.bridge.served import RecordedPort, Served
from tests.engine.control_loop.fakes import MS, Connection, FakeLoop
from tests.engine.control_loop.running import GO, STOP
from tests.engine.fakes import running

LINE = "CTS of /dev/ttyUSB9"


class Rig:
    """A robot that is armed at the start, and the switch. `reads` what the thread reads, in this
    thread; the event loop does at once what the thread posts, unless it is late."""

    def __init__(self, *, armed: bool = True) -> None:
        self.loop = FakeLoop(armed=armed)
        self.clock, self.observer = self.loop.scheduler, self.loop.observer
        self.loops = ControlLoops(self.clock)
        self.loops.add(self.loop.loop)
        self.switch = EmergencySwitch(self.loops, self.clock, self.observer, LINE, self.never)
        self.loops.estop = self.switch
        self.late: list[Callable[[], None]] | None = None
        self.switch.event_loop = self  # type: ignore[assignment]
        self.loop.robot_comes()
        self.loop.controller_comes()
        self.loops.hold_back()

    def never(self) -> Any:
        raise AssertionError("not opened here")

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> None:
        if self.late is None:
            callback()
        else:
            self.late.append(callback)

    def reads(self, *readings: bool | Exception) -> None:
        given = iter(readings)

        class Line:
            def is_on(inner) -> bool:
                reading = next(given)
                if isinstance(reading, Exception):
                    raise reading
                return reading

        with pytest.raises((StopIteration, OSError)) as caught:
            self.switch.read_until_lost(Line())  # type: ignore[arg-type]
        if isinstance(caught.value, OSError):
            self.switch.pass_on(False, f"{LINE} cannot be read: {estop.in_words(caught.value)}")

    def drives(self) -> bool:
        before = len(self.loop.robot.data())
        self.loop.watchdog.checked_ns = self.clock.now()
        self.loop.controller.data_received(GO)
        return GO in self.loop.robot.data()[before:]

    @property
    def report(self) -> dict[str, Any]:
        return self.loop.loop.report()


# --- pressed and released -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "readings", "drives"),
    [
        ("", [], False),
        ("", [True], True),
        ("disarmed", [True], False),
        ("", [False, True], False),  # pressed at the start: its release arms nothing
    ],
)
def test_no_robot_is_armed_before_the_switch_was_read_closed(
    before: str, readings: list[bool], drives: bool
) -> None:
    rig = Rig()
    with pytest.raises(SafetyError, match="pressed: it has not been read yet"):
        rig.loops.arm("cab")
    if before:
        rig.loops.disarm("cab")
    rig.reads(*readings)
    assert rig.drives() is drives
    assert rig.switch.report()["presses"] == readings.count(False)
    if readings:
        rig.loops.arm("cab")
        assert rig.drives()


def test_the_switch_disarms_all_robots_and_the_cause_is_named() -> None:
    rig = Rig()
    rig.reads(True)
    assert rig.drives()
    before = rig.loop.robot.data()
    rig.reads(True, False)
    assert rig.loop.robot.data() == before + STOP
    assert rig.report["stops"] == {"estop": 1}
    assert rig.report["disarmed_by"] == "estop"
    assert rig.observer.stops == [("estop", StopReason.ESTOP.doc)]
    assert f"pressed: {LINE} is off; all robots are disarmed" in rig.observer.notices
    assert rig.switch.report() == {
        "line": LINE,
        "pressed": True,
        "cause": f"{LINE} is off",
        "presses": 1,
    }
    with pytest.raises(SafetyError, match=f"switch is pressed: {LINE} is off; release it"):
        rig.loops.arm("cab")
    rig.reads(False, True, True)
    assert not rig.drives()
    assert any(text.startswith("released") for text in rig.observer.notices)
    rig.loops.arm("cab")
    assert rig.drives()


def test_a_press_names_the_robots_whose_stop_was_not_sent() -> None:
    rig = Rig()
    rig.reads(True)
    assert rig.drives()
    rig.loop.robot_leaves()
    rig.reads(False)
    assert rig.observer.notices[-1] == (
        f"pressed: {LINE} is off; all robots are disarmed; stop not sent, body down: cab"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EIO, os.strerror(errno.EIO)), "Input/output error"),
        (OSError(errno.ENODEV, os.strerror(errno.ENODEV)), "No such device"),
        (OSError(errno.ENOTTY, os.strerror(errno.ENOTTY)), "Inappropriate ioctl"),
        (TimeoutError("no answer within 30 ms"), "no answer within 30 ms"),
    ],
)
def test_a_line_that_cannot_be_read_counts_as_pressed(error: OSError, words: str) -> None:
    rig = Rig()
    rig.reads(True, error)
    assert not rig.drives()
    assert words in rig.switch.cause and rig.report["stops"] == {}


def test_a_lease_ends_with_the_switch() -> None:
    rig = Rig(armed=False)
    rig.reads(True)
    lease = Lease(rig.loops, rig.clock, ["cab"])
    rig.reads(False, True)
    assert lease.renew() is StopReason.ESTOP
    assert not rig.drives()


def test_while_the_event_loop_is_late_a_thread_stops_robots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    rig.reads(True)
    assert rig.drives()
    emergencies: list[str] = []
    monkeypatch.setattr(rig.loop.loop.safety, "emergency", lambda: emergencies.append("cab"))
    rig.late = []
    rig.reads(False)
    assert emergencies == ["cab"]
    assert not rig.drives()  # what waited in the event loop comes before its stop
    (judge,) = rig.late
    judge()
    assert rig.report["stops"] == {"estop": 1}


def test_readings_that_stay_away_count_as_pressed() -> None:
    """The driver hangs: the thread waits for its answer."""
    rig = Rig()
    rig.reads(True)
    rig.switch.watch()
    for _ in range(10):
        rig.clock.run(9 * MS)
        rig.switch.reads += 1
        rig.clock.run(1 * MS)
    assert rig.drives()
    rig.clock.run(49 * MS)
    assert not rig.drives()
    assert rig.switch.cause == f"{LINE} cannot be read: no answer"
    rig.reads(True)
    assert not rig.switch.pressed


def test_a_late_event_loop_alone_presses_nothing() -> None:
    rig = Rig()
    rig.reads(True)
    rig.switch.watch()
    for _ in range(20):
        rig.clock.time += 400 * MS  # nothing runs, the thread neither
        rig.clock.run(1 * MS)
        rig.switch.reads += 1
    assert not rig.switch.pressed


@pytest.mark.wall_clock("an event loop hangs")
def test_a_thread_stops_a_robot_while_the_event_loop_hangs() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    rig = Rig()
    state = SimpleNamespace(on=True, opened=0)

    class Line:
        def is_on(self) -> bool:
            return bool(state.on)

        def close(self) -> None:
            pass

    def open_line() -> Line:
        state.opened += 1
        return Line()

    async def main() -> float:
        rig.loop.safety.armed = True
        switch = EmergencySwitch(rig.loops, rig.clock, rig.observer, LINE, open_line)
        rig.loops.estop = switch
        switch.start()
        while switch.pressed:
            await asyncio.sleep(0.001)
        stop = rig.loop.loop.safety.emergency_stop
        stop.attach(Connection(fd=slave, pending=0))  # type: ignore[arg-type]
        stop.prepare(STOP)
        begin = time.monotonic()
        state.on = False
        assert select.select([master], [], [], 5.0)[0], "not stopped"
        assert os.read(master, 100) == 2 * STOP  # the event loop hangs here
        took = time.monotonic() - begin
        stop.detach()
        while not switch.pressed:
            await asyncio.sleep(0.001)
        switch.stop()
        return took

    try:
        asyncio.run(main())
    finally:
        os.close(master)
        os.close(slave)
    assert rig.report["disarmed_by"] == "estop" and state.opened == 1


# --- over RFC 2217 --------------------------------------------------------------------------------


class FakePort:
    """A serial port of pyserial's server, with a switch between RTS and CTS."""

    baudrate, bytesize, parity, stopbits = 9600, 8, "N", 1
    xonxoff = rtscts = dsr = ri = cd = rts = dtr = False
    break_condition = False

    def __init__(self) -> None:
        self.closed = True  # the switch
        self.silent = threading.Event()

    @property
    def cts(self) -> bool:
        return bool(self.closed and self.rts)

    def reset_input_buffer(self) -> None: ...
    def reset_output_buffer(self) -> None: ...


@contextmanager
def pyserial_server(port: FakePort) -> Iterator[str]:
    """pyserial's own server of RFC 2217, which answers questions for the modem lines."""
    listening = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            accepted.append(connection)
            with connection:
                writer = SimpleNamespace(write=connection.sendall)
                manager = serial.rfc2217.PortManager(port, writer)
                try:
                    while data := connection.recv(1024):
                        if not port.silent.is_set():
                            list(manager.filter(data))
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"rfc2217://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in accepted:
            if connection.fileno() >= 0:
                connection.shutdown(socket.SHUT_RDWR)
        thread.join(DEADLINE_S)


@pytest.fixture(autouse=True)
def quick_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyserial's client waits in long steps, and after close(). A busy machine answers late."""
    hasty = SimpleNamespace(monotonic=time.monotonic, sleep=lambda s: time.sleep(min(s, 0.002)))
    monkeypatch.setattr(serial.rfc2217, "time", hasty)
    monkeypatch.setattr(open_modem_line, "__kwdefaults__", {"answer_s": 5.0})


def test_a_switch_at_pysierials_server_is_read_afresh_each_time() -> None:
    port = FakePort()
    with pyserial_server(port) as url:
        line = open_modem_line(url, "cts", allow_urls=True)
        hasty = ModemLine(*line[:3], answer_s=0.02)
        assert port.rts and port.dtr
        for port.closed in (True, False, True):
            assert line.is_on() is port.closed
        port.silent.set()
        with pytest.raises(TimeoutError, match="no answer within 20 ms"):
            hasty.is_on()
        port.silent.clear()
    with pytest.raises(OSError):  # the server is gone
        wait_until(lambda: not hasty.is_on())
    line.close()


@pytest.mark.wall_clock("a thread opens a port again")
async def test_after_a_lost_answer_the_port_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes too late is not taken for the next one."""
    monkeypatch.setattr(estop, "OPEN_AGAIN_S", 0.001)
    rig, opened = Rig(), list[Any]()

    def open_line() -> Any:
        def is_on() -> bool:
            if line is opened[0]:
                raise TimeoutError("no answer within 30 ms")
            return True

        line = SimpleNamespace(is_on=is_on, close=lambda: closed.append(line))
        opened.append(line)
        return line

    closed: list[Any] = []
    switch = EmergencySwitch(rig.loops, rig.clock, rig.observer, LINE, open_line)
    switch.start()
    await until(lambda: switch.reads > 0 and closed)
    switch.stop()
    assert len(opened) == 2 and closed[0] is opened[0]


def test_a_switch_at_our_bridge_is_read_afresh_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as the bridge read it last, for its own notifications."""
    monkeypatch.setattr(bridge_line, "MODEM_PERIOD_NS", 3_600_000 * MS)
    port = RecordedPort()
    with Served(port) as bridge:
        line = open_modem_line(bridge.url, "dcd", allow_urls=True)
        try:
            for on in (True, False, True, False):
                port.inputs = ModemState(cts=False, dsr=False, ri=False, cd=on)
                wait_until(lambda on=on: line.is_on() is on)  # type: ignore[misc]
        finally:
            line.close()


GATEWAY = """
version: 1
webots: R2020a
network_ports: true
estop: {port: "URL", line: cts}
robots:
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", simulated: true}}
"""


@pytest.mark.wall_clock("pyserial's client opens its port in real time")
def test_a_gateway_with_a_switch_over_rfc_2217(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estop, "MISSED", 10_000)  # a busy machine is slow
    port, recorder = FakePort(), Recorder()

    async def main(url: str) -> None:
        config = load_text(GATEWAY.replace("URL", url), "f").config
        async with running(config, recorder) as gateway:
            loops = gateway.control_loops
            switch, state = loops.estop, loops["cab"].safety.state
            assert switch is not None
            await until(lambda: state.armed and not switch.pressed)
            port.closed = False
            await until(lambda: not state.armed)
            with pytest.raises(SafetyError, match=r"CTS of rfc2217://.* is off"):
                loops.arm("cab")
            port.closed = True
            await until(lambda: not switch.pressed)
            assert not state.armed
            loops.arm("cab")
            assert state.armed

    with pyserial_server(port) as url:
        asyncio.run(main(url))
    assert any("is off; all robots are disarmed" in text for text in recorder.notices)


def test_a_pseudo_terminal_has_no_line_that_is_on() -> None:
    master, slave = pty.openpty()
    try:
        line = open_modem_line(os.ttyname(slave), "cts", allow_urls=False)
        with pytest.raises(OSError):
            line.is_on()
        line.close()
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("name", ["cts", "dsr", "dcd"])
def test_each_line_is_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port = SimpleNamespace(cts=name == "cts", dsr=name == "dsr", cd=name == "dcd", asked=[])
    monkeypatch.setattr(modem_line, "open_modem_lines", lambda path, *, allow_urls: port)
    for line in ("cts", "dsr", "dcd"):
        assert open_modem_line("/dev/ttyS9", line, allow_urls=False).is_on() is (line == name)
