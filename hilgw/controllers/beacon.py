"""Controller `beacon`: sends a numbered packet at a period and counts what it hears."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.controllers.base import Action, Send
from hilgw.medium.packet import Copy
from hilgw.settings import setting
from hilgw.units import NS_PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconSettings:
    """Settings of the beacon."""

    emitter: str = setting("name of the robot's Emitter device", example="tx", refers="emitter")
    receiver: str | None = setting(
        "name of the robot's Receiver device to listen on", None, refers="receiver"
    )
    period_ms: int = setting("one packet each", 1000, ge=1, le=86_400_000, unit="ms")
    payload: str = setting("what to send, as UTF-8; {n} is the packet's number, from 1", "ping {n}")


# No more: {n:999999999} takes seconds to make, {n:c} is no character for every n.
_FORM = re.compile(r"([ -~]?[<>=^])?[-+ ]?#?0?[0-9]{0,2}[,_]?(\.[0-9]{1,2})?[bdoxXeEfFgG]?")


def _template_error(payload: str) -> str | None:
    try:
        fields = [field[1:3] for field in string.Formatter().parse(payload) if field[1] is not None]
        if any(name != "n" for name, _ in fields):
            return "only {n} may stand in braces"
        if not all(_FORM.fullmatch(form or "") for _, form in fields):
            return "{n} is written in some other way than {n:03}, {n:>5} or {n:x}, or too wide"
        return None if payload.format(n=1) else "it is empty"
    except (ValueError, IndexError, KeyError, LookupError) as error:
        return str(error)


class BeaconSession:
    """The pure session; see `hilgw.controllers.base.Session`."""

    def __init__(self, settings: BeaconSettings) -> None:
        self._settings = settings
        self._period_ns = settings.period_ms * NS_PER_MS
        self._next: int | None = None
        self._number = 0
        self.accepted = 0
        self.heard = 0

    def start(self, now: int) -> list[Action]:
        self._next = now
        return self.expire(now)

    def packet(self, receiver: str, copy: Copy, now: int) -> list[Action]:
        if receiver == self._settings.receiver:
            self.heard += 1
        return []

    def sent(self, accepted: bool) -> None:
        self.accepted += accepted

    def next_deadline(self) -> int | None:
        return self._next

    def expire(self, now: int) -> list[Action]:
        if self._next is None or now < self._next:
            return []
        # After a pause (a suspended machine) go on from now: no volley of missed packets.
        missed = (now - self._next) // self._period_ns
        self._next += (missed + 1) * self._period_ns
        self._number += 1
        data = self._settings.payload.format(n=self._number).encode()
        return [Send(self._settings.emitter, data)]

    def summary(self) -> str:
        return f"sent {self.accepted}, heard {self.heard}"


class Beacon:
    """The controller as the configuration finds it."""

    kind: ClassVar[str] = "beacon"
    summary: ClassVar[str] = "sends a packet on a channel at a period and reports what it hears"
    Settings: ClassVar[type[Any]] = BeaconSettings

    def check(self, settings: BeaconSettings) -> list[tuple[str, str, str]]:
        error = _template_error(settings.payload)
        if error is None:
            return []
        return [("payload", f"no usable template: {error}", "write text with {n} for the number")]

    def session(self, settings: BeaconSettings) -> BeaconSession:
        return BeaconSession(settings)


CONTROLLER = Beacon()
