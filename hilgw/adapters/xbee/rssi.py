"""The RSSI of packets whose frame has none: read from the register DB after them.

DB is the module's last measurement, on the last hop: after another packet or an acknowledgement it
is that one's. So each RSSI from here is marked as uncertain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hilgw.adapters.base import Event, Received, Write
from hilgw.adapters.xbee.frames import AtResponse
from hilgw.units import NS_PER_MS

ASK_EVERY_NS = 20 * NS_PER_MS
PATIENCE_NS = 100 * NS_PER_MS  # besides the time on the line
QUESTION_BYTES = 32  # command and answer with escapes, and a margin
RETRY_NS = 1000 * NS_PER_MS  # pause after a command without an answer
HELD = 16  # packets that wait, at most

Ask = Callable[[str], tuple[int, Write]]


class LastHop:
    """Holds packets until DB is known: one command at a time, its answer is for all that wait.

    Packets keep their order. Where no answer comes, or the next command is not due yet, they pass
    without an RSSI, or with the last one if they are from the same module.
    """

    def __init__(self, byte_ns: int) -> None:
        self._patience_ns = PATIENCE_NS + QUESTION_BYTES * byte_ns
        self._held: list[Received] = []
        self._asked: int | None = None
        self._next_ns = 0
        self._unknown = False
        self._last: tuple[str | None, int] | None = None  # address, RSSI
        self.deadline: int | None = None

    def receive(self, packet: Received, now: int, ask: Ask) -> list[Event]:
        if self._held:
            self._held.append(packet)
            return self.release() if len(self._held) >= HELD else []
        if packet.rssi_dbm is not None or self._unknown:
            return [packet]
        if now < self._next_ns:
            last = self._last
            return [_with(packet, last[1] if last and last[0] == packet.address else None)]
        self._asked, question = ask("DB")
        self._held.append(packet)
        self._next_ns = now + ASK_EVERY_NS
        self.deadline = now + self._patience_ns
        return [question]

    def take(self, answer: AtResponse) -> list[Event]:
        """An answer to any command; the packets it releases."""
        if answer.frame_id != self._asked or answer.name != "DB":
            return []
        self._unknown = not answer.ok
        value = int.from_bytes(answer.value, "big") if answer.ok else 0
        return self.release(-value if 0 < value < 256 else None)

    def expire(self, now: int) -> list[Event]:
        if self.deadline is None or now < self.deadline:
            return []
        self._next_ns = now + RETRY_NS
        return self.release()

    def release(self, rssi_dbm: int | None = None) -> list[Event]:
        """Release all waiting packets, with this RSSI."""
        held, self._held = self._held, []
        self._asked = self.deadline = self._last = None
        if held and rssi_dbm is not None:
            self._last = held[-1].address, rssi_dbm
        return [_with(packet, rssi_dbm) for packet in held]


def _with(packet: Received, rssi_dbm: int | None) -> Received:
    if packet.rssi_dbm is not None or rssi_dbm is None:
        return packet
    return replace(packet, rssi_dbm=rssi_dbm, rssi_uncertain=True)
