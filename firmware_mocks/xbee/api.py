"""API mode: what each frame from the client does, and the frames that go back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.radio import UNKNOWN16, Outcome, Packet

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module


class Api:
    """Frames in, frames out, for one module. Malformed and unknown frames are ignored."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._frames: dict[int, tuple[int, Callable[[bytes, int], None]]] = {
            0x00: (11, self._transmit_64),
            0x01: (5, self._transmit_16),
            0x08: (4, self._command),
            0x09: (4, self._command),
        }

    def handle(self, frame: bytes, now: int) -> None:
        """One frame's data from the client."""
        shortest, action = self._frames.get(frame[0], (0, None))
        if action is not None and len(frame) >= shortest:
            action(frame, now)

    def _command(self, frame: bytes, now: int) -> None:
        frame_id, letters = frame[1], frame[2:4]

        def reply(code: int, value: bytes, when: int) -> None:
            if frame_id:
                self.module.answer(bytes((0x88, frame_id)) + letters + bytes((code,)) + value, when)

        queued = frame[0] == 0x09
        self.module.commands.run(letters.decode("latin-1"), frame[4:], reply, now, hold=queued)

    def _transmit_64(self, frame: bytes, now: int) -> None:
        destination = int.from_bytes(frame[2:10], "big")
        packet = self.module.addressing.packet(frame[11:], destination, options=frame[10])
        self._transmit(packet, frame[1], now)

    def _transmit_16(self, frame: bytes, now: int) -> None:
        destination = int.from_bytes(frame[2:4], "big")
        packet = self.module.addressing.packet(frame[5:], None, destination, options=frame[4])
        self._transmit(packet, frame[1], now)

    def _transmit(self, packet: Packet, frame_id: int, now: int) -> None:
        earliest = now

        def done(outcome: Outcome, when: int) -> None:
            if frame_id:
                frame = bytes((0x89, frame_id, outcome.status))
                self.module.answer(frame, when, asked=earliest)

        self.module.send(packet, done, now)

    def received(self, packet: Packet, rssi_dbm: int, now: int) -> None:
        """A data packet from the air."""
        options = self.module.addressing.receive_options(packet)
        if packet.source16 == UNKNOWN16:
            source = b"\x80" + packet.source64.to_bytes(8, "big")
        else:
            source = b"\x81" + packet.source16.to_bytes(2, "big")
        self.module.report(source + bytes((-rssi_dbm, options)) + packet.data, now)

    def modem_status(self, code: int, now: int) -> None:
        self.module.answer(bytes((0x8A, code)), now)


assert status.SUCCESS == 0
