"""Time to act: at an event that is about to come."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


@runtime_checkable
class Expecting(Protocol):
    """An event loop that asks for events before it sleeps.

    It calls what follows those that came together: see
    `hilgw.engine.event_loop.direct_loop.DirectLoop`.
    """

    def expect_event(self) -> None: ...

    def call_after_round(self, callback: "Callable[[], object]") -> None: ...


def event_expectation(loop: "AbstractEventLoop") -> "Callable[[], None]":
    """Return what to call where the next event is a few microseconds away.

    To sleep and to be woken would take longer: an event loop that can asks for events for a while
    before it sleeps.
    """
    return loop.expect_event if isinstance(loop, Expecting) else lambda: None
