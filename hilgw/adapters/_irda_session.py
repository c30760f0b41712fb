"""The session of a SIR transceiver: a serial line that hears itself and takes turns.

Frame: address (7 bits and C/R), control 03 (unnumbered information), the packet. A command frame
to everybody carries address 127. Source: IrDA, Serial Infrared Link Access Protocol 1.1,
sections 10.1 and 10.2.
"""

from __future__ import annotations

from hilgw.adapters._common.framed_line import UartSession
from hilgw.adapters._common.framed_line_settings import UartSettings
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Received,
    StationSettings,
    Transmission,
)
from hilgw.framing.sir import Sir, SirSettings
from hilgw.medium.packet import BROADCAST, Packet

BROADCAST_ADDRESS = 127
COMMAND = 0x01  # C/R: from the station that asks
UNNUMBERED = 0x03
HEADER = 2


class IrdaSession(UartSession):
    """One transceiver. It never sends while it hears, nor `turnaround_ns` after."""

    def __init__(
        self,
        common: StationSettings,
        *,
        turnaround_ns: int,
        extra_bofs: int,
        max_payload: int,
        echo: bool,
    ) -> None:
        self._sir = SirSettings(extra_bofs=extra_bofs, max_payload=max_payload + HEADER)
        super().__init__(UartSettings(local_echo=echo), common)
        self._turnaround_ns = turnaround_ns
        self._own_until = 0  # own light may still come back until then

    def _new_framing(self) -> Sir:
        return Sir(self._sir)

    def _name(self) -> str:
        return "sir"

    def receive(self, data: bytes, now: int) -> list[Event]:
        if now > self._own_until:
            self._quiet_until = max(self._quiet_until, now + self._turnaround_ns)
        return super().receive(data, now)

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if self._open and self._framing.held and now <= self._quiet_until:
            self._waits = True  # the other side is in the middle of a frame
            return NOT_YET
        frame = super().send(packet, now)
        if isinstance(frame, Transmission):
            self._own_until = now + self._duration_ns(frame.data) + self._turnaround_ns
        return frame

    def _heard(self, payload: bytes, now: int) -> Event:
        event = super()._heard(payload, now)
        if not isinstance(event, Received):
            return event
        if len(payload) <= HEADER or payload[1] != UNNUMBERED:
            return Dropped("no_packet", "a frame of another kind than unnumbered information")
        address = payload[0] >> 1
        if address not in (self._channel, BROADCAST_ADDRESS):
            return Dropped("other_address", f"a frame for address {address}")
        channel = BROADCAST if address == BROADCAST_ADDRESS else address
        return Received(payload[HEADER:], channel)

    def _payload_of(self, packet: Packet) -> bytes | CannotSend:
        payload = super()._payload_of(packet)
        if isinstance(payload, CannotSend):
            return payload
        address = BROADCAST_ADDRESS if packet.channel == BROADCAST else packet.channel
        return bytes((address << 1 | COMMAND, UNNUMBERED)) + payload

    def _words(self) -> str:
        return f"SIR, {self._line.baudRate} bit/s, address {self._channel}"
