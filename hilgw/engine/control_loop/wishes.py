"""What the controller of a loop wants, as it comes in; motors are the drive's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.control.events import (
    Connected,
    Disconnected,
    EmitterSettings,
    Event,
    MotorCommand,
    MotorSettings,
    PacketOut,
    ReceiverSettings,
    SensorSwitch,
    Stop,
    Write,
)

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.engine.control_loop.drive import Safety
    from hilgw.engine.control_loop.parts import Parts

Ask = Callable[["BodySession"], list[Event]]


class Wishes:
    """The way from the controller to the body, and to the gateway's own radios."""

    def __init__(self, parts: Parts, drive: Safety) -> None:
        self._parts = parts
        self._drive = drive
        self._switched: set[int] = set()
        self._handlers: dict[type[Any], Callable[[Any, int], None]] = {
            Connected: self._came,
            Disconnected: self._fell_silent,
            Stop: lambda event, now: drive.stop(event.reason, now),
            MotorCommand: drive.command,
            MotorSettings: drive.command,
            SensorSwitch: self._switch,
            PacketOut: self._send,
            EmitterSettings: self._tune,
            ReceiverSettings: self._tune,
        }

    def take(self, events: list[Event], now: int) -> None:
        """What the controller's session says."""
        controller = self._parts.controller
        assert controller is not None
        for event in events:
            kind = type(event)
            handle = self._handlers.get(kind)
            if handle is None:
                self._parts.say(controller, event)
                continue
            if kind not in (Connected, Disconnected, Stop):
                controller.heard = True
            handle(event, now)

    def let_go(self, now: int) -> None:
        """The controller is gone: what it changed is as before for the next one."""
        body, switched = self._parts.body, self._switched
        self._switched = set()
        self._parts.radios.restore()
        if body is not None and body.transport is not None:
            for index in switched:
                self._tell_body(index, None, now)

    def _came(self, event: Connected, now: int) -> None:
        if self._parts.controller is not None:
            self._parts.controller.ready(event.identity)

    def _fell_silent(self, event: Disconnected, now: int) -> None:
        if self._parts.controller is not None:
            self._parts.controller.not_ready(event.reason)
        self.let_go(now)

    # --- what is no motor ---------------------------------------------------------------------

    def _switch(self, event: SensorSwitch, now: int) -> None:
        """The controller's session leaves out what it does not want; a body that can be told
        saves the bytes too."""
        if event.index in self._parts.radios:
            self._answer(event.index, self._parts.radios.switch(event.index, event.period_ms))
        elif self._parts.body is not None and self._parts.body.transport is not None:
            if event.period_ms is None:
                self._switched.discard(event.index)
            else:
                self._switched.add(event.index)
            self._tell_body(event.index, event.period_ms, now)

    def _tell_body(self, index: int, period_ms: float | None, now: int) -> None:
        """Whether it can be told makes no difference to the controller."""
        body = self._parts.body
        assert body is not None
        said = body.session.switch(index, period_ms, now)
        body.run([event for event in said if type(event) is Write], now)

    def _send(self, event: PacketOut, now: int) -> None:
        if event.index in self._parts.radios:
            self._answer(event.index, self._parts.radios.send(event))
        else:
            self._ask(event.index, lambda session: session.send(event, now), now)

    def _tune(self, event: EmitterSettings | ReceiverSettings, now: int) -> None:
        if event.index in self._parts.radios:
            self._answer(event.index, self._parts.radios.tune(event))
        else:
            self._ask(event.index, lambda session: session.tune(event, now), now)

    def _ask(self, index: int, ask: Ask, now: int) -> None:
        body = self._parts.body
        if body is None:
            self._parts.refuse(index, "no_body", "this loop has no body")
            return
        try:
            events = ask(body.session)
        except Exception as error:  # noqa: BLE001 - as in Side.call
            body.fault(error)
        else:
            self._parts.ask_body(index, events, now)

    def _answer(self, index: int, reason: str | None) -> None:
        """Of one of the gateway's own radios."""
        if reason is not None:
            name = self._parts.figures.name_of(index)
            self._parts.refuse(index, reason, f"'{name}' does not take it")
