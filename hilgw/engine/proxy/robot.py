"""A robot whose controller is behind a proxy, and its Receivers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from hilgw.controllers.base import (
    DeliveredCopies,
    Enabled,
    Lost,
    Notice,
    ProxyEvent,
    ProxySession,
    Sent,
    Tuned,
)
from hilgw.engine.observer import Observer
from hilgw.engine.robot.ports import ReceiverPort, Robot
from hilgw.medium.packet import Copy
from hilgw.reasons import PacketRefused
from hilgw.transports.base import Transport


class ProxyReceiverPort(ReceiverPort):
    """A Receiver of a proxied robot.

    Copies wait in the proxy's session for the sampling period in Webots' time: this Receiver is
    on the medium only, as the controller enables and tunes it.

    hold: takes a copy, returns None or why not; None: no controller is connected.
    """

    hold: Callable[[Copy], PacketRefused | None] | None = None
    _held = 0

    def deliver(self, copy: Copy) -> None:
        reason = PacketRefused.DISABLED if self.hold is None else self.hold(copy)
        if reason is not None:
            self._statistics.refuse(reason, "not taken by the receiver")
        else:
            self._held += 1

    def queued(self) -> int:
        """Return how many copies wait in the session."""
        return self._held

    def delivered(self, copies: Sequence[Copy]) -> None:
        """Count these copies, which went to the controller, as delivered."""
        self._held -= len(copies)
        now = self._schedule.now()
        for copy in copies:
            self._statistics.deliver(copy, now)

    def lost(self, copies: Sequence[Copy]) -> None:
        """Count these copies, which waited for a Receiver whose controller is gone, as lost."""
        self._held -= len(copies)
        self._statistics.refuse(PacketRefused.DISABLED, "its controller is gone", len(copies))

    def close(self) -> None:
        held, self._held = self._held, 0
        self._statistics.expire(held)
        super().close()


class ProxiedRobot:
    """A robot, and the session of the controller that has it now.

    world_name: its name in Webots. connect: opens a connection to Webots, raises PortError.
    new_session: for each connection.
    """

    def __init__(
        self,
        robot: Robot,
        world_name: str,
        connect: Callable[[], Awaitable[Transport]],
        new_session: Callable[[], ProxySession],
        observer: Observer,
    ) -> None:
        self.name = robot.name
        self.world_name = world_name
        self.connect = connect
        self.new_session = new_session
        self.counts: Counter[str] = Counter(connections=0, packets_out=0, packets_in=0)
        self._emitters = robot.emitters
        self._receivers = {
            name: port
            for name, port in robot.receivers.items()
            if isinstance(port, ProxyReceiverPort)
        }
        self._observer = observer
        self._session: ProxySession | None = None

    def begin(self, session: ProxySession) -> None:
        """Give the robot to a controller that Webots has accepted."""
        if self._session is not None:
            self.end(self._session)
        self.counts["connections"] += 1
        self._session = session
        for emitter in self._emitters.values():
            emitter.latency.clear()  # it is that of this connection
        for name, port in self._receivers.items():
            port.latency.clear()
            port.hold = partial(session.hold, name)

    def end(self, session: ProxySession) -> None:
        """Close the session of a connection that is gone."""
        self.act(session.close())
        if self._session is session:
            self._session = None
            for port in self._receivers.values():
                port.hold = None

    def act(self, events: Iterable[ProxyEvent]) -> None:
        """Act on what passed through the session."""
        for event in events:
            match event:
                case Sent(device, channel, range, data):
                    self._send(device, channel, range, data)
                case Enabled(device, period_ms):
                    self._receivers[device].enable(period_ms)
                case Tuned(device, channel):
                    self._receivers[device].tune(channel)
                case DeliveredCopies(device, copies):
                    self.counts["packets_in"] += len(copies)
                    self._receivers[device].delivered(copies)
                case Lost(device, copies):
                    self._receivers[device].lost(copies)
                case Notice(text):
                    self._observer.notice(self.name, text)

    def report(self) -> dict[str, Any]:
        """Return the state and the counts, for `--report`."""
        return {"connected": self._session is not None, **self.counts}

    def _send(self, device: str, channel: int, range: float, data: bytes) -> None:
        self.counts["packets_out"] += 1
        reason = self._emitters[device].pass_on(data, channel, range)
        if reason is not None:
            self._observer.refused(f"{self.name}.{device}", reason, "not sent")
