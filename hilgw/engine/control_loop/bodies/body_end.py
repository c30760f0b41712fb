"""One body of a control loop: its link, its safety, and whether it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hilgw.control.events import Connected, Disconnected, Registered, Write
from hilgw.engine.control_loop.bodies.renumbered import RenumberedSession
from hilgw.engine.control_loop.bodies.repeater import Repeater
from hilgw.engine.control_loop.peer_link import PeerListener
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hilgw.bodies.base import BodySession
    from hilgw.control.events import Command, Event
    from hilgw.devices.kinds import Device, Devices, Refusal
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.safety import Safety
    from hilgw.transports.base import Transport

# A body registers its devices one by one; after this pause the registration is complete.
REGISTRATION_PAUSE_NS = 100 * NS_PER_MS


class BodyOwner(Protocol):
    """What a control loop does with its bodies."""

    def from_body(self, end: BodyEnd, events: list[Event], now: int) -> None:
        """Events of the session of this body."""

    def body_detached(self, end: BodyEnd, now: int) -> None:
        """The connection to this body is gone."""


class BodyEnd(PeerListener):
    """Listens to the link of one body. is_up: it has answered and is still there. numbered: its
    session, where another body decides what the indices mean; else None."""

    def __init__(self, link: PeerLink[BodySession], safety: Safety, owner: BodyOwner) -> None:
        self.link = link
        self.safety = safety
        self.is_up = False
        self.numbered: RenumberedSession | None = None
        self._owner = owner
        self._repeater: Repeater | None = None
        self._registered_ns = 0  # the last device
        safety.attach(link)
        link.listener = self

    # --- the link -----------------------------------------------------------------------------

    def events(self, events: list[Event], now: int) -> None:
        self._owner.from_body(self, events, now)

    def attached(self, transport: Transport) -> None:
        self.safety.emergency_stop.attach(transport)

    def detached(self, now: int) -> None:
        self.safety.emergency_stop.detach()
        self._owner.body_detached(self, now)

    def faulted(self, now: int) -> None:
        self.safety.stop_after_body_fault(now)

    # --- commands -----------------------------------------------------------------------------

    def repeat_commands(self) -> None:
        """From now on the last commands are kept: `repeat` sends them again."""
        self._repeater = Repeater()

    def encode(self, command: Command, now: int) -> Refusal | list[Event]:
        """Checks one motor command, and has the session turn it into bytes. The events are for
        `PeerLink.handle`; none when the session failed."""
        link = self.link
        try:
            return self.safety.check(link, command, now) or link.session.command(command, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            link.fault(error)
            return []

    def commanded(self, command: Command, now: int) -> None:
        """The bytes of this command were written."""
        if self._repeater is not None:
            self._repeater.keep(command, now, first=not self.safety.state.moving)
        self.safety.commanded(command, now)

    def for_another_body(self) -> list[Command]:
        """The last commands of a body whose motors move, as far as another body takes them."""
        if self._repeater is None or not self.safety.state.moving:
            return []
        return self._repeater.for_another_body()

    def repeat(self, now: int) -> None:
        """Motors in Webots keep a command; robots with a watchdog need it again and again."""
        if self._repeater is None or not self.safety.state.moving:
            return
        for command in self._repeater.due(now):
            events = self.encode(command, now)
            if isinstance(events, list):
                self.link.handle([event for event in events if type(event) is Write], now)

    # --- a body that the controller does not have ---------------------------------------------

    def note(self, event: Event, now: int) -> None:
        """An event while another body is the controller's."""
        match event:
            case Connected(identity):
                self.is_up, self._registered_ns = True, now
                self.link.ready(identity)
            case Registered():
                self._registered_ns = now
            case Disconnected(reason):
                self.lost(reason)

    def lost(self, reason: str) -> None:
        """The body is gone, and its devices with it."""
        if self.numbered is not None:
            self.numbered.renumber(None)
        if self.is_up:
            self.is_up = False
            self.link.not_ready(reason)

    def number(self) -> None:
        """Another body may decide what the indices mean, and may take the place of this one;
        before the first connection."""
        self.repeat_commands()
        self.link.session = self.numbered = RenumberedSession(self.link.session)

    def is_registered(self, now: int, pause_ns: int = REGISTRATION_PAUSE_NS) -> bool:
        """Whether it is there, and has registered no device for a while."""
        return self.is_up and now - self._registered_ns >= pause_ns

    @property
    def own_devices(self) -> Devices:
        """Those of the body, in its own indices."""
        return self.link.session.devices if self.numbered is None else self.numbered.own_devices

    def align(self, table: Mapping[str, Device]) -> None:
        """The session uses the indices of this table."""
        if self.numbered is not None:
            self.numbered.renumber(table)
