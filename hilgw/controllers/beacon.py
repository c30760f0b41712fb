"""Controller `beacon`: sends numbered packets periodically and counts the packets it receives."""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.controllers.base import Action, InsideController, PacketQueue, Send
from hilgw.settings import Problem, setting
from hilgw.units import NS_PER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconSettings:
    """Settings of the beacon."""

    emitter: str = setting("name of the robot's Emitter device", example="tx", refers="emitter")
    receiver: str | None = setting(
        "name of the robot's Receiver device to listen on", None, refers="receiver"
    )
    period_ms: int = setting("time between two packets", 1000, ge=1, le=86_400_000, unit="ms")
    payload: str = setting("data of each packet, as UTF-8; {n} is its number, from 1", "ping {n}")


BRACES = "write {{ for {, and }} for }"


def _template_error(payload: str) -> str | None:
    try:
        fields = {name for _, name, _, _ in string.Formatter().parse(payload) if name is not None}
        if fields - {"n"}:
            return f"only {{n}} is allowed in braces; {BRACES}"
        return None if all(_filled(payload, n) for n in (1, 2**32)) else "the payload is empty"
    except (ValueError, LookupError, OverflowError) as error:
        return f"{error}; {BRACES}"


def _filled(payload: str, number: int) -> bytes:
    return payload.format(n=number).encode()


class BeaconSession:
    """The pure session; see `hilgw.controllers.base.ControllerSession`."""

    def __init__(self, settings: BeaconSettings) -> None:
        self._settings = settings
        self._period_ns = settings.period_ms * NS_PER_MS
        self._receivers: Mapping[str, PacketQueue] = {}
        self._next: int | None = None
        self._number = 0
        self.accepted = 0
        self.received = 0

    def start(self, now: int, receivers: Mapping[str, PacketQueue]) -> list[Action]:
        self._receivers = receivers
        self._next = now
        return self.expire(now)

    def readable(self, receiver: str, now: int) -> list[Action]:
        """Read every queue to its end, so that none overflows, and count its own receiver's."""
        while self._receivers[receiver].next_packet() is not None:
            self.received += receiver == self._settings.receiver
        return []

    def sent(self, accepted: bool) -> None:
        self.accepted += accepted

    def next_deadline(self) -> int | None:
        return self._next

    def expire(self, now: int) -> list[Action]:
        if self._next is None or now < self._next:
            return []
        # After a pause (a suspended machine) continue from now, without a burst of missed packets.
        missed = (now - self._next) // self._period_ns
        self._next += (missed + 1) * self._period_ns
        self._number += 1
        return [Send(self._settings.emitter, _filled(self._settings.payload, self._number))]

    def summary(self) -> str:
        return f"sent {self.accepted}, received {self.received}"


class Beacon(InsideController):
    """The kind of controller `beacon`."""

    kind: ClassVar[str] = "beacon"
    summary: ClassVar[str] = (
        "sends numbered packets periodically and counts the packets it receives"
    )
    Settings: ClassVar[type[Any]] = BeaconSettings

    def check(self, settings: BeaconSettings) -> list[Problem]:
        error = _template_error(settings.payload)
        if error is None:
            return []
        return [("payload", f"not a valid template: {error}", "write text with {n} for the number")]

    def session(self, settings: BeaconSettings) -> BeaconSession:
        return BeaconSession(settings)

    def period_ms(self, settings: BeaconSettings) -> float:
        return settings.period_ms


CONTROLLER = Beacon()
