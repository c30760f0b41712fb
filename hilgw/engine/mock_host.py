"""Makes firmware mocks and hosts them: bytes, time and the air they share."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, cast

from hilgw.engine.lines import Lines
from hilgw.engine.observer import Observer
from hilgw.errors import ConfigError
from hilgw.plugins import load_mock
from hilgw.transports.base import (
    ConnectionSide,
    DeviceSide,
    ListenerSide,
    Observable,
    Scheduler,
    Wakeup,
)
from hilgw.units import NS_PER_MS, earliest

STEPS = 10_000  # deadlines in one turn of the event loop
PAUSE_NS = NS_PER_MS  # between two such turns
SERIAL, RETRY_S = "serial", 1.0

Position = tuple[float, float, float]


class Mock(Protocol):
    """Firmware that behaves like the hardware, without I/O; see `firmware_mocks`."""

    name: str

    @property
    def baud_rate(self) -> int: ...

    @property
    def bits_per_byte(self) -> int: ...

    @property
    def host_baud(self) -> int | None: ...

    @host_baud.setter
    def host_baud(self, rate: int | None) -> None: ...

    def receive(self, data: bytes, now: int) -> None: ...

    def advance(self, now: int) -> None: ...

    def take(self, now: int) -> bytes: ...

    def next_deadline(self) -> int | None: ...

    def set(self, name: str, value: str) -> None: ...

    def reset(self, now: int) -> None: ...

    def switch_off(self) -> None: ...

    def describe(self) -> str: ...


class WholeMock(Mock, Protocol):
    """A mock with all parts.

    Those that are not of `Mock` are optional: firmware has them where its hardware does. The host
    looks for them once, when it adds the mock.

    network: of a network peer, "tcp-server" or "tcp-client"; without it, or with SERIAL, the mock
    is on a line. closing: it wants its connection closed. retry_s: of a TCP client, between two
    attempts to connect; without it RETRY_S.
    """

    network: str
    closing: bool
    retry_s: float

    def attach(
        self,
        scheduler: Scheduler,
        wake: Callable[[], None],
        notify: Callable[[str, str], object],
        show: Callable[[str, str], object],
    ) -> None:
        """Start a mock with I/O of its own.

        wake: when `take` has more. show: gets its name, and a line that it prints. Raises
        ConfigError.
        """

    def freeze(self, frozen: bool) -> None:
        """Halt a mock that runs by itself, as its line does, or let it go on."""

    async def finish(self) -> None:
        """End a mock with I/O of its own; return when it has ended."""

    def connect(self, now: int) -> None:
        """Open the connection of a network peer, which `disconnect` closes."""

    def disconnect(self, now: int) -> None: ...

    def accept(self, now: int) -> Mock:
        """Return a TCP server's end of a new connection, a network peer of its own."""

    @property
    def clear_to_send(self) -> bool:
        """True if the client of firmware with flow control may send now."""

    def set_modem_line(self, name: str, on: bool, now: int) -> None:
        """Take a modem line of hardware with a pin on it: the client switched "dtr" or "rts"."""

    def take_notice(self) -> str:
        """Return what a user should know, once; "": nothing."""


class Air(Protocol):
    """The radio or infrared channel that the mocks of one host share. seed: of its randomness."""

    seed: int

    def advance(self, now: int) -> None: ...

    def next_deadline(self) -> int | None: ...


def create_mock(
    kind: str,
    name: str,
    air: Any,
    parameters: Mapping[str, Any],
    position: Position = (0.0, 0.0, 0.0),
) -> Mock:
    """Return a mock of this kind in `air`. ConfigError names the parameter that does not fit."""
    mock_class = load_mock(kind)
    try:
        mock: Mock = mock_class.create(name, air, dict(parameters), position=position)
    except ValueError as error:
        raise ConfigError(f"mock {kind} {name}: {error}") from None
    return mock


def part_of(mock: Mock, name: str, default: Any = None) -> Any:
    """Return a part of a `WholeMock`, or the default where this mock does not have it."""
    return getattr(mock, name) if name in dir(mock) else default


class _HostedMock(Observable):
    """A mock as the end of its line, and the device at the other side.

    line: rate and bits per byte of the port now. connection: of a network peer. has_flow: the
    firmware has flow control.
    """

    def __init__(self, mock: Mock, device: DeviceSide | None) -> None:
        self.mock = mock
        self.whole = cast(WholeMock, mock)  # for the parts that it has
        self.device = device
        self.line = (0, 0)
        self.clear_to_send = True
        self.has_flow = part_of(mock, "clear_to_send") is not None
        self.take_notice: Callable[[], str] = part_of(mock, "take_notice", str)
        self.connection: ConnectionSide | None = None
        if isinstance(device, ConnectionSide) and part_of(mock, "connect"):
            self.connection = device

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None:
        self._on_data = on_data
        if self.device is not None:
            self.device.start(self._received)

    def write(self, data: bytes) -> None:
        if self.device is not None:
            self.device.write(data)

    def close(self) -> None:
        if self.device is not None:
            self.device.close()

    def _received(self, data: bytes, host_baud: int | None) -> None:
        if self._on_data is not None:
            self._on_data(data, host_baud)


class MockHost:
    """The host of mocks that share one air on a scheduler.

    Bytes in and out, deadlines in order of time.

    One timer is set to the earliest deadline of all; nothing is polled. `close` closes the
    devices, too. lines: the mocks' ends of their lines, by the name of each mock. notify: gets the
    name of a mock, and its notice; show: a line that it prints.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        air: Air,
        notify: Callable[[str, str], object] = lambda name, text: None,
        show: Callable[[str, str], object] = lambda name, line: None,
    ) -> None:
        self.air, self._notify, self._show = air, notify, show
        self.lines = Lines(Observer(), scheduler.now)
        self._scheduler = scheduler
        self._all: list[_HostedMock] = []
        self._wakeup = Wakeup(scheduler, lambda _: self._run())
        self._time = 0
        self._closed = False

    @property
    def mocks(self) -> list[Mock]:
        return [hosted.mock for hosted in self._all]

    def device_of(self, mock: Mock) -> DeviceSide | None:
        """Return the device that the client of this mock opens; None: it has no client."""
        return self._hosted(mock).device

    def add(self, mock: Mock, device: DeviceSide | None = None) -> None:
        """Power up a mock behind `device`. Without a device it has no client and acts alone."""
        hosted = self.lines.opened(mock.name, _HostedMock(mock, device))
        whole, connection = hosted.whole, hosted.connection
        self._all.append(hosted)
        self._follow_line(hosted)
        hosted.start(lambda data, host_baud: self._receive(hosted, data, host_baud))
        if device is not None and part_of(mock, "set_modem_line"):
            device.on_modem_line = lambda name, on: self._act(
                lambda now: whole.set_modem_line(name, on, now)
            )
        if connection is not None:
            connection.on_open = lambda: self._act(whole.connect)
            connection.on_close = lambda: self._act(whole.disconnect)
        if isinstance(device, ListenerSide) and part_of(mock, "accept"):
            device.on_client = lambda client: self._serve(whole, client)
        if part_of(mock, "attach"):
            whole.attach(self._scheduler, self._run, self._notify, self._show)
        mock.advance(self._scheduler.now())
        self._run()

    def stall(self, mock: Mock, stalled: bool = True) -> None:
        """Freeze a mock as firmware that hangs, or let it go on: the client's bytes wait."""
        device = self._hosted(mock).device
        if device is not None:
            device.stall() if stalled else device.unstall()
        if part_of(mock, "freeze"):
            cast(WholeMock, mock).freeze(stalled)

    def unplug(self, mock: Mock) -> None:
        """Pull the cable: the client's port is gone, the module has no power."""
        mock.switch_off()
        device = self._hosted(mock).device
        if device is not None:
            device.unplug()

    def plug(self, mock: Mock) -> None:
        """Plug the cable in: the module powers up and the port is there again."""
        hosted = self._hosted(mock)
        mock.host_baud = None
        mock.reset(self._scheduler.now())
        self._follow_line(hosted)
        if hosted.device is not None:
            hosted.device.plug()
        self._run()

    def reset(self, mock: Mock) -> None:
        """Switch the power off and on with the cable in place: output that waits is lost."""
        mock.reset(self._scheduler.now())
        self._follow_line(self._hosted(mock))
        self._run()

    def set(self, mock: Mock, name: str, value: str) -> None:
        """Set a parameter of a running mock. ValueError lists the values allowed."""
        self._catch_up()
        mock.set(name, value)
        self._run()

    def ends(self) -> list[Coroutine[Any, Any, None]]:
        """Return what ends the mocks with I/O of their own."""
        return [cast(WholeMock, each).finish() for each in self.mocks if part_of(each, "finish")]

    def close(self) -> None:
        """Stop the mocks and close the devices. May be repeated."""
        self._closed = True
        self._wakeup.set(None)
        for hosted in self._all:
            hosted.close()

    def _hosted(self, mock: Mock) -> _HostedMock:
        return next(hosted for hosted in self._all if hosted.mock is mock)

    def _receive(self, hosted: _HostedMock, data: bytes, host_baud: int | None) -> None:
        if self._closed:
            return
        try:
            self._catch_up()
            hosted.mock.host_baud = host_baud
            hosted.mock.receive(data, self._time)
            self._follow_flow(hosted)
        finally:
            self._run()

    def _act(self, action: Callable[[int], None]) -> None:
        if not self._closed:
            self._catch_up()
            action(self._time)
            self._run()

    def _run(self) -> None:
        try:
            self._catch_up()
            self._disconnect()
        finally:
            self._sleep()

    def _serve(self, server: WholeMock, client: ConnectionSide) -> None:
        end = server.accept(self._scheduler.now())
        self.add(end, client)
        leave = client.on_close

        def on_close() -> None:
            self._all = [hosted for hosted in self._all if hosted.mock is not end]
            if leave is not None:
                leave()

        client.on_close = on_close

    def _disconnect(self) -> None:
        for hosted in list(self._all):
            if hosted.connection is not None and hosted.whole.closing:
                hosted.connection.hang_up()

    def _catch_up(self) -> None:
        now = self._scheduler.now()
        for _ in range(STEPS):
            due = self._next_deadline()
            if due is None or due > now:
                break
            self._step(max(due, self._time))
        self._time = max(now, self._time)

    def _step(self, time: int) -> None:
        self._time = time
        self.air.advance(time)
        for hosted in self._all:
            hosted.mock.advance(time)
        for hosted in self._all:
            if data := hosted.mock.take(time):
                hosted.write(data)
            self._follow_line(hosted)
            self._follow_flow(hosted)
            if text := hosted.take_notice():
                self._notify(hosted.mock.name, text)

    def _follow_line(self, hosted: _HostedMock) -> None:
        line = (hosted.mock.baud_rate, hosted.mock.bits_per_byte)
        if line != hosted.line and hosted.device is not None:
            hosted.device.set_line(*line)
        hosted.line = line

    def _follow_flow(self, hosted: _HostedMock) -> None:
        if not hosted.has_flow or hosted.whole.clear_to_send == hosted.clear_to_send:
            return
        hosted.clear_to_send = not hosted.clear_to_send
        if hosted.device is not None:
            hosted.device.unstall() if hosted.clear_to_send else hosted.device.stall()

    def _next_deadline(self) -> int | None:
        return earliest(
            *(each.mock.next_deadline() for each in self._all), self.air.next_deadline()
        )

    def _sleep(self) -> None:
        due = None if self._closed else self._next_deadline()
        if due is not None and due <= self._time:
            # A mock with deadlines left after its turn must not starve the event loop.
            due = self._time + PAUSE_NS
        self._wakeup.set(due)
