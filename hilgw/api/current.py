"""The one robot of this process, as in Webots."""

from typing import Any

from hilgw.api.devices.states import State
from hilgw.api.session import Session
from hilgw.devices import nodes

_session: Session | None = None
_objects: dict[int, Any] = {}


def begin(session: Session, objects: dict[int, Any]) -> None:
    """Make this session's robot the robot of the process, with its devices by tag as `objects`."""
    global _session, _objects
    _session, _objects = session, objects


def end() -> None:
    """Forget the robot."""
    global _session, _objects
    _session, _objects = None, {}


def open_session() -> Session | None:
    """Return the session; None if no robot was made, or it was closed."""
    return _session


def session() -> Session:
    """Return the session.

    Raises:
        RuntimeError: No robot was made.
    """
    if _session is None:
        raise RuntimeError("make a Robot() first")
    return _session


def device(name: str | int) -> State | None:
    """Return the device of this name, the first of several, or of this tag."""
    devices = session().devices
    if isinstance(name, int):
        return devices.get(name)
    return next((each for each in devices.values() if each.name == name), None)


def basic_time_step() -> int:
    """Return the basic time step in whole ms."""
    return int(session().configuration.basicTimeStep)


def associated(state: State, *kinds: str) -> Any:
    """Return the device of one of these kinds on the same joint; None if there is none.

    This is an immediate request: no time passes.
    """
    here = session()
    state.associated = 0
    for kind in kinds:
        state.ask(nodes.number(here.version, nodes.of_kind(kind)))
        here.step(0)
        if state.associated:
            return _objects.get(state.associated)
    return None
