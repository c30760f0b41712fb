"""Bodies of other distributions that were made for version 1 of the interface stop as before."""

from collections.abc import Collection
from typing import Any

from hilgw.bodies.create2 import Create2Body, Create2Settings
from hilgw.bodies.create2.session import Create2Session
from hilgw.control.events import Command, Event, MotorCommand, StopReason, Write
from hilgw.control.safety import MotorMode
from hilgw.framing.base import Framing
from tests.bodies import test_every_body

NEW = ("can_stop", "emergency")


class SessionOfVersion1:
    """Has the stops of version 1, and those only."""

    def __init__(self, session: Create2Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        if name in NEW:
            raise AttributeError(name)
        return getattr(self._session, name)

    def stop_command(self, index: int, mode: MotorMode) -> Command | None:
        return next((each for each in self.stop_commands() if each.index == index), None)

    def stop_commands(self) -> list[Command]:
        motors = self._session.devices.of_role("motor") if self.stop_bytes() else []
        return [MotorCommand(each.index, "velocity", 0.0) for each in motors]

    stop_copies = 3

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        return self._session.stop(reason, now).events

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        return self._session.stop_again(motors, now)

    def stop_motor(self, index: int, now: int) -> list[Event] | None:
        plan = self._session.stop_motor(index, now)
        return None if plan is None else plan.events

    def stop_bytes(self) -> bytes:
        return self._session.emergency()


class BodyOfVersion1(Create2Body):
    def session(self, settings: Create2Settings, version: str, framing: Framing | None) -> Any:
        return SessionOfVersion1(Create2Session(settings))


class SubclassOfVersion1(Create2Session):
    """Builds on `hilgw.bodies.robot`, where these methods returned events."""

    def _halt(self, reason: StopReason, now: int) -> list[Event]:  # type: ignore[override]
        self._rest()
        return [Write(self._stop_data())]

    def _halt_motor(self, index: int, now: int) -> list[Event]:  # type: ignore[override]
        self._wheels[index].settle()
        return self._drive_on(now)


class BodyWithASubclass(Create2Body):
    def session(self, settings: Create2Settings, version: str, framing: Framing | None) -> Any:
        return SubclassOfVersion1(settings)


class TestASession(test_every_body.TestCreate2):
    body = BodyOfVersion1()
    page = None


class TestASubclass(test_every_body.TestCreate2):
    body = BodyWithASubclass()
    page = None
