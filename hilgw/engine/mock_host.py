"""Makes firmware mocks and hosts them: bytes, time and the air they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from hilgw.errors import ConfigError
from hilgw.plugins import load_mock
from hilgw.transports.base import DeviceSide, Handle, Scheduler
from hilgw.transports.tcp.device import TcpDevice

STEPS = 10_000  # deadlines run in one go; then the loop gets its turn
BREATH_NS = 1_000_000

Position = tuple[float, float, float]


class Mock(Protocol):
    """A sans-I/O stand-in for hardware, as `firmware_mocks` describes it."""

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


class NetworkMock(Mock, Protocol):
    """A mock that is a network peer. closing: it wants its connection closed."""

    closing: bool

    def connect(self, now: int) -> None: ...

    def disconnect(self, now: int) -> None: ...


class Air(Protocol):
    """What mocks in one host share."""

    def advance(self, now: int) -> None: ...

    def next_deadline(self) -> int | None: ...


def create_mock(
    kind: str,
    name: str,
    air: Any,
    parameters: Mapping[str, Any],
    position: Position = (0.0, 0.0, 0.0),
) -> Mock:
    """A mock of this kind in `air`. ConfigError names the parameter that does not fit."""
    found = load_mock(kind)
    try:
        mock: Mock = found.create(name, air, dict(parameters), position=position)
    except ValueError as error:
        raise ConfigError(f"mock {kind} {name}: {error}") from None
    return mock


@dataclass(slots=True)
class _Seat:
    """One mock and where its client is."""

    mock: Mock
    device: DeviceSide | None
    line: tuple[int, int] = field(default=(0, 0))
    clear_to_send: bool = True


class MockHost:
    """Runs mocks that share one air on a scheduler: bytes in and out, deadlines in order of time.

    One timer stands at the earliest deadline of all of them; nothing is polled. The devices
    handed over are closed by `close`.
    """

    def __init__(self, scheduler: Scheduler, air: Air) -> None:
        self.air = air
        self._scheduler = scheduler
        self._seats: list[_Seat] = []
        self._timer: Handle | None = None
        self._time = 0
        self._closed = False

    @property
    def mocks(self) -> list[Mock]:
        return [seat.mock for seat in self._seats]

    def device_of(self, mock: Mock) -> DeviceSide | None:
        """Where its client is; None: it has none."""
        return self._seat(mock).device

    def add(self, mock: Mock, device: DeviceSide | None = None) -> None:
        """Power `mock` up behind `device`; without one it has no client and acts by itself."""
        seat = _Seat(mock, device)
        self._seats.append(seat)
        self._follow_line(seat)
        if device is not None:
            device.start(lambda data, host_baud: self._receive(seat, data, host_baud))
        switch = getattr(mock, "set_modem_line", None)
        if device is not None and switch is not None and hasattr(device, "on_modem_line"):
            device.on_modem_line = lambda name, on: self._tell(lambda now: switch(name, on, now))
        if isinstance(device, TcpDevice):
            peer = cast("NetworkMock", mock)
            device.on_open = lambda: self._tell(peer.connect)
            device.on_close = lambda: self._tell(peer.disconnect)
        mock.advance(self._scheduler.now())
        self._run()

    def unplug(self, mock: Mock) -> None:
        """Pull the cable: the client sees its port vanish, the module has no power."""
        mock.switch_off()
        device = self._seat(mock).device
        if device is not None:
            device.unplug()

    def plug(self, mock: Mock) -> None:
        """Put the cable back: the module powers up anew and the port is there again."""
        seat = self._seat(mock)
        mock.host_baud = None
        mock.reset(self._scheduler.now())
        self._follow_line(seat)
        if seat.device is not None:
            seat.device.plug()
        self._run()

    def reset(self, mock: Mock) -> None:
        """Power cycle with the cable in place: what was on its way out is gone."""
        mock.reset(self._scheduler.now())
        self._follow_line(self._seat(mock))
        self._run()

    def close(self) -> None:
        """Stop, and close the devices. May be repeated."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for seat in self._seats:
            if seat.device is not None:
                seat.device.close()

    def _seat(self, mock: Mock) -> _Seat:
        return next(seat for seat in self._seats if seat.mock is mock)

    def _receive(self, seat: _Seat, data: bytes, host_baud: int | None) -> None:
        if self._closed:
            return
        try:
            self._catch_up()
            seat.mock.host_baud = host_baud
            seat.mock.receive(data, self._time)
            self._follow_flow(seat)
        finally:
            self._run()

    def _tell(self, said: Callable[[int], None]) -> None:
        """A network peer has a connection, or has it no more."""
        if not self._closed:
            self._catch_up()
            said(self._time)
            self._run()

    def _run(self) -> None:
        """Do what is due, then sleep until the next deadline."""
        try:
            self._catch_up()
            self._hang_up()
        finally:
            self._sleep()

    def _hang_up(self) -> None:
        """Network peers that want their connection closed."""
        for seat in self._seats:
            if isinstance(seat.device, TcpDevice) and cast("NetworkMock", seat.mock).closing:
                seat.device.hang_up()

    def _catch_up(self) -> None:
        """All deadlines up to now, one after the other, each at its own time."""
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
        for seat in self._seats:
            seat.mock.advance(time)
        for seat in self._seats:
            data = seat.mock.take(time)
            if data and seat.device is not None:
                seat.device.write(data)
            self._follow_line(seat)
            self._follow_flow(seat)

    def _follow_line(self, seat: _Seat) -> None:
        """The port runs at the rate the firmware has set."""
        line = (seat.mock.baud_rate, seat.mock.bits_per_byte)
        if line != seat.line and seat.device is not None:
            seat.device.set_line(*line)
        seat.line = line

    def _follow_flow(self, seat: _Seat) -> None:
        """Firmware with flow control says when its client must wait; a port may be able to."""
        clear = getattr(seat.mock, "clear_to_send", True)
        if clear != seat.clear_to_send:
            seat.clear_to_send = clear
            change = getattr(seat.device, "unstall" if clear else "stall", None)
            if change is not None:
                change()

    def _next_deadline(self) -> int | None:
        waits = [seat.mock.next_deadline() for seat in self._seats]
        waits.append(self.air.next_deadline())
        return min((when for when in waits if when is not None), default=None)

    def _sleep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._next_deadline()
        if due is not None and not self._closed:
            # A mock that still has something due after its turn must not starve the loop.
            when = due if due > self._time else self._time + BREATH_NS
            self._timer = self._scheduler.call_at(when, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._run()
