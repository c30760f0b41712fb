"""The Receivers that use real hardware: copies wait until the Receiver's period is due in Webots'
time, as packets of Webots do."""

from __future__ import annotations

from collections import deque

from hilgw.devices.fields import CAP_BYTES, CAP_PACKETS
from hilgw.medium.packet import Copy
from hilgw.protocols.webots import Receive
from hilgw.reasons import PacketRefused


class HeldPackets:
    """The copies for one Receiver. At most CAP_BYTES and CAP_PACKETS: the newest do not fit. The
    controller's library decides which fit the Receiver's buffer."""

    def __init__(self) -> None:
        self.tag: int | None = None  # None: not in the robot of Webots
        self.channel = 0
        self.enabled = False
        self._copies: deque[Copy] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._copies)

    def hold(self, copy: Copy) -> str:
        """Keeps a copy; returns "" or why not."""
        if not self.enabled:
            return PacketRefused.DISABLED
        size = len(copy.packet.data)
        if len(self._copies) >= CAP_PACKETS or self._bytes + size > CAP_BYTES:
            return PacketRefused.CAP
        self._copies.append(copy)
        self._bytes += size
        return ""

    def clear(self) -> tuple[Copy, ...]:
        """Takes all copies out."""
        taken = tuple(self._copies)
        self._copies.clear()
        self._bytes = 0
        return taken

    def message(self, copy: Copy) -> Receive:
        """RECEIVE carries the Receiver's channel, not the packet's: libController takes it for the
        Receiver's own."""
        assert self.tag is not None
        data = copy.packet.data
        return Receive(self.tag, self.channel, copy.direction, copy.signal_strength, data)
