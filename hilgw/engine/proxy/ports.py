"""A Receiver of a robot whose controller is behind a proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.engine.robot.ports import ReceiverPort
from hilgw.reasons import PacketRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hilgw.medium.packet import Copy


class ProxyReceiverPort(ReceiverPort):
    """Copies wait in the proxy's session for the sampling period in Webots' time: this Receiver is
    on the medium only, as the controller enables and tunes it.

    hold: takes a copy, returns None or why not; None: no controller is connected.
    """

    hold: Callable[[Copy], PacketRefused | None] | None = None
    _held = 0

    def deliver(self, copy: Copy) -> None:
        """The medium hands over one copy."""
        reason = PacketRefused.DISABLED if self.hold is None else self.hold(copy)
        if reason is not None:
            self._statistics.refuse(reason, "not taken by the receiver")
        else:
            self._held += 1

    def queued(self) -> int:
        """Copies that wait in the session."""
        return self._held

    def delivered(self, copies: Sequence[Copy]) -> None:
        """These copies went to the controller."""
        self._held -= len(copies)
        now = self._schedule.now()
        for copy in copies:
            self._statistics.deliver(copy, now)

    def lost(self, copies: Sequence[Copy]) -> None:
        """These copies waited for a Receiver whose controller is gone."""
        self._held -= len(copies)
        text = "its controller is gone"
        self._statistics.refuse(PacketRefused.DISABLED, text, len(copies))

    def close(self) -> None:
        """The gateway ends: copies that were not delivered expire."""
        held, self._held = self._held, 0
        self._statistics.expire(held)
        super().close()
