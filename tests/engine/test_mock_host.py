"""Hosting mocks: found by name, fed, woken at their deadlines, never polled."""

from collections.abc import Callable
from typing import Any

import pytest

from firmware_mocks.base import Mock
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.errors import ConfigError
from hilgw.plugins import load_mock, new_air
from hilgw.testing.sim import Clock

MS = 1_000_000
POWER_UP = bytes.fromhex("7E 00 02 8A 00 75")
ASK_AP = bytes.fromhex("7E 00 04 08 01 41 50 65")
AP_IS_1 = bytes.fromhex("7E 00 06 88 01 41 50 00 01 E4")


class FakeDevice:
    """A port whose client is the test."""

    def __init__(self) -> None:
        self.path = "fake"
        self.plugged, self.stalled = True, False
        self.on_modem_line: Callable[[str, bool], None] | None = None
        self.on_open: Callable[[], None] | None = None
        self.on_close: Callable[[], None] | None = None
        self.on_client: Callable[[Any], None] | None = None
        self.lines: list[tuple[int, int]] = []
        self.output = b""
        self.closed = 0
        self.give: Callable[[bytes, int | None], None] = lambda data, baud: None

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None:
        self.give = on_data

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self.lines.append((baud_rate, bits_per_byte))

    def write(self, data: bytes) -> None:
        self.output += data

    def unplug(self) -> None:
        self.plugged = False

    def plug(self) -> None:
        self.plugged = True

    def stall(self) -> None:
        self.stalled = True

    def unstall(self) -> None:
        self.stalled = False

    def hang_up(self) -> None:
        if self.on_close is not None:
            self.on_close()

    def close(self) -> None:
        self.closed += 1

    def taken(self) -> bytes:
        output, self.output = self.output, b""
        return output


class Stage:
    """A host with modules, in fake time."""

    def __init__(self) -> None:
        self.scheduler = Clock(0)
        self.host = MockHost(self.scheduler, new_air())

    def add(self, name: str, port: bool = True, **parameters: Any) -> tuple[Any, FakeDevice]:
        device = FakeDevice()
        mock = create_mock("xbee", name, self.host.air, parameters, (1.0, 0.0, 0.0))
        self.host.add(mock, device if port else None)
        return mock, device

    def wait(self, ms: int) -> None:
        self.scheduler.run(ms * MS)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def transmit(to: int, text: bytes) -> bytes:
    data = b"\x00\x01" + to.to_bytes(8, "big") + b"\x00" + text
    return b"\x7e" + len(data).to_bytes(2, "big") + data + bytes((0xFF - sum(data) % 256,))


def test_an_unknown_kind_is_reported_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"unknown firmware mock 'xbe'; did you mean 'xbee'\?"):
        load_mock("xbe")
    with pytest.raises(ConfigError, match=r"known here: .*xbee"):
        load_mock("zzz")


def test_a_parameter_that_does_not_fit_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="mock xbee rover: channel: 99 is not allowed"):
        create_mock("xbee", "rover", new_air(), {"channel": 99})
    with pytest.raises(ConfigError, match="loss"):
        new_air(loss=2)


def test_a_module_powers_up_and_answers_and_nothing_is_polled(stage: Stage) -> None:
    one, device = stage.add("one")
    assert "at 1, 0, 0 m" in one.describe()
    stage.wait(100)
    assert device.taken() == POWER_UP
    assert stage.scheduler.waiting == 0
    fired = stage.scheduler.fired
    stage.wait(3_600_000)
    assert stage.scheduler.fired == fired
    device.give(ASK_AP, 9600)
    assert stage.scheduler.waiting == 1
    stage.wait(3)
    assert device.taken() == b""  # the firmware takes its time
    stage.wait(2)
    assert device.taken() == AP_IS_1


def test_a_late_host_catches_up_each_deadline_at_its_own_time(stage: Stage) -> None:
    one, device = stage.add("one")
    stage.wait(100)
    device.taken()
    times: list[int] = []
    for when in (110, 120, 130):
        one.timers.start(str(when), when * MS, times.append)
    device.give(ASK_AP, 9600)
    stage.scheduler.time = 500 * MS  # blocked for 400 ms
    stage.scheduler.run_until(500 * MS)
    assert times == [110 * MS, 120 * MS, 130 * MS]
    assert device.taken() == AP_IS_1


def test_the_port_follows_the_rate_of_the_firmware(stage: Stage) -> None:
    _, device = stage.add("one", baudRate=19200)
    stage.wait(100)
    assert device.lines == [(19200, 10)]
    device.give(bytes.fromhex("7E 00 05 08 01 42 44 07 69"), 19200)
    stage.wait(100)
    assert device.lines == [(19200, 10), (115200, 10)]
    device.taken()
    device.give(ASK_AP, 9600)  # the client still sends at another rate
    stage.wait(100)
    assert device.taken() == b""
    device.give(ASK_AP, 115200)
    stage.wait(1000)
    device.give(ASK_AP, 115200)
    stage.wait(100)
    assert AP_IS_1 in device.taken()


def test_an_unplugged_module_is_off_and_boots_when_it_comes_back(stage: Stage) -> None:
    _, near = stage.add("near")
    far_mock, far = stage.add("far")
    stage.wait(100)
    near.taken(), far.taken()
    stage.host.unplug(far_mock)
    assert not far.plugged
    near.give(transmit(far_mock.address, b"x"), 9600)
    stage.wait(100)
    assert near.taken() == bytes.fromhex("7E 00 03 89 01 01 74")  # no module acknowledges
    stage.host.plug(far_mock)
    stage.wait(100)
    assert far.plugged
    assert far.taken() == POWER_UP
    near.give(transmit(far_mock.address, b"x"), 9600)
    stage.wait(100)
    assert near.taken() == bytes.fromhex("7E 00 03 89 01 00 75")


def test_closing_stops_everything_and_may_be_repeated(stage: Stage) -> None:
    _, device = stage.add("one")
    stage.wait(100)
    device.taken()
    device.give(ASK_AP, 9600)
    stage.host.close()
    stage.host.close()
    assert device.closed >= 1
    assert stage.scheduler.waiting == 0
    device.give(ASK_AP, 9600)
    stage.wait(100)
    assert device.taken() == b""


def test_a_notice_of_a_mock_reaches_the_user_once() -> None:
    notices: list[tuple[str, str]] = []
    clock = Clock(0)
    host = MockHost(clock, new_air(), lambda *notice: notices.append(notice))
    mock = create_mock("wc2ec_controller", "pilot", host.air, {})
    host.add(mock)
    getattr(mock, "connect")(clock.now())  # noqa: B009 - a part that not every mock has
    host.set(mock, "message_ms", "10")  # the host looks at its deadlines
    clock.run(5_000 * MS)
    assert [name for name, _ in notices] == ["pilot"]
    assert "drives no motor" in notices[0][1]


def test_a_mock_that_is_always_due_or_raises_holds_up_no_other(stage: Stage) -> None:
    _, device = stage.add("one")
    stage.wait(100)
    device.taken()
    calls: list[int] = []
    mock, broken = stage.add("broken")
    mock.advance, mock.next_deadline = calls.append, lambda: 0
    mock.receive = lambda data, now: 1 // 0
    device.give(ASK_AP, 9600)
    with pytest.raises(ZeroDivisionError):
        broken.give(b"x", 9600)
    calls.clear()
    stage.wait(5)
    assert calls  # and time went on
    assert device.taken() == AP_IS_1


class Peer(Mock):
    """Firmware with every part. calls: what the host asks of it."""

    closing, clear_to_send = False, True

    def __init__(self, name: str, calls: list[Any]) -> None:
        super().__init__(name)
        self.calls = calls

    def receive(self, data: bytes, now: int) -> None:
        self.clear_to_send = data != b"full"

    def reset(self, now: int) -> None:
        self.uart.baud_rate = 9600

    def set(self, name: str, value: str) -> None:
        self.calls.append(name)

    def attach(self, scheduler: Any, wake: Any, notify: Any, show: Callable[..., None]) -> None:
        show(self.name, "starts")

    def freeze(self, frozen: bool) -> None:
        self.calls.append(frozen)

    def connect(self, now: int) -> None:
        self.calls.append("connect")

    def disconnect(self, now: int) -> None:
        self.closing = False
        self.calls.append("disconnect")

    def accept(self, now: int) -> Mock:
        return Peer("client", self.calls)

    def set_modem_line(self, name: str, on: bool, now: int) -> None:
        self.calls.append((name, on))


Staged = tuple[Stage, Peer, Any]


@pytest.fixture
def staged(stage: Stage) -> Staged:
    peer, device = Peer("peer", []), FakeDevice()
    stage.host.add(peer, device)
    peer.calls.clear()
    return stage, peer, device


def test_a_client_opens_and_closes_a_connection_and_so_may_the_mock(staged: Staged) -> None:
    stage, peer, device = staged
    device.on_open()
    peer.timers.start("ends", MS, lambda now: setattr(peer, "closing", True))
    device.on_modem_line("rts", True)
    assert peer.calls == ["connect", ("rts", True)]
    stage.wait(2)
    assert peer.calls.pop() == "disconnect"
    client: Any = FakeDevice()
    device.on_client(client)
    client.on_open()
    assert [each.name for each in stage.host.mocks] == ["peer", "client"]
    client.hang_up()
    assert peer.calls[2:] == ["connect", "disconnect"]
    assert stage.host.mocks == [peer]


def test_a_mock_that_hangs_or_is_full_holds_its_client_until_it_goes_on(staged: Staged) -> None:
    stage, peer, device = staged
    for stalled in (True, False):
        stage.host.stall(peer, stalled)
        assert (device.stalled, peer.calls) == (stalled, [stalled])
        peer.calls.clear()
    for _ in range(2):
        device.give(b"full", 9600)
        assert device.stalled
        peer.timers.start("reads", stage.scheduler.time + MS, lambda now: peer.receive(b"", now))
        stage.host.set(peer, "", "")
        stage.wait(1)
        assert not device.stalled


@pytest.mark.parametrize("power", ["reset", "unplug"])
def test_a_mock_that_starts_anew_is_at_its_first_rate(staged: Staged, power: str) -> None:
    stage, peer, device = staged
    device.give(b"", 115_200)
    peer.timers.start("fast", MS, lambda now: setattr(peer.uart, "baud_rate", 115_200))
    stage.host.set(peer, "", "")
    stage.wait(1)
    assert device.lines[-1] == (115_200, 10)
    getattr(stage.host, power)(peer)
    if power == "unplug":
        stage.host.plug(peer)
        assert peer.host_baud is None
    assert device.lines[-1] == (9600, 10)


def test_what_is_due_comes_before_what_is_set(staged: Staged) -> None:
    stage, peer, _ = staged
    peer.timers.start("due", MS, lambda now: peer.calls.append(now))
    stage.scheduler.time = 5 * MS
    stage.host.set(peer, "rate", "1")
    assert peer.calls == [MS, "rate"]


def test_what_a_mock_prints_is_not_a_notice() -> None:
    shown: list[tuple[str, str]] = []
    host = MockHost(Clock(0), new_air(), show=lambda *line: shown.append(line))
    host.add(Peer("peer", []))
    assert shown == [("peer", "starts")]
