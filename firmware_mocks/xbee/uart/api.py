"""API mode: the action of each frame from the client, and the frames to the client."""

from collections.abc import Callable

from firmware_mocks.xbee.hardware import MAC_FAMILY, MESH_FAMILY
from firmware_mocks.xbee.network import zdo
from firmware_mocks.xbee.network.options import EVERY_PAN, EVERY_PAN_IN_10
from firmware_mocks.xbee.network.packets import (
    INVALID16,
    SAMPLE_CLUSTER,
    SERIAL_DATA,
    UNKNOWN16,
    UNKNOWN64,
    Delivery,
    Endpoints,
    Outcome,
    Packet,
    Request,
)
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.network.zigbee import Zigbee
from firmware_mocks.xbee.pins import extended_data, standard_data
from firmware_mocks.xbee.sampling import Samples, uses_standard_format
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.commands import Answer, Commands, RemoteCommands
from firmware_mocks.xbee.uart.serial_line import SerialLine

AO_EXPLICIT, AO_LEGACY = 1, 2
RELAY_SERIAL, RELAY_BLE, RELAY_MICROPYTHON = 0, 1, 2
# Frame type -> the shortest frame data with all its fields.
SHORTEST = {0x00: 11, 0x01: 5, 0x08: 4, 0x09: 4, 0x10: 14, 0x11: 20, 0x17: 15, 0x24: 13, 0x2D: 3}


def number(frame: bytes, start: int, end: int) -> int:
    return int.from_bytes(frame[start:end], "big")


class Api:
    """Frames in, frames out, for one module. Malformed and unknown frames are ignored."""

    def __init__(
        self,
        settings: Settings,
        radio: Transceiver,
        line: SerialLine,
        commands: Commands,
        remote: RemoteCommands,
    ) -> None:
        self._settings = settings
        self._hardware = settings.hardware
        self._radio = radio
        self._line = line
        self._commands = commands
        self._frames: dict[int, Callable[[bytes, int], None]] = {
            0x08: self._command,
            0x09: self._command,
            0x17: remote.send,
        }
        if self._hardware.family == MAC_FAMILY:
            self._frames |= {0x00: self._transmit_64, 0x01: self._transmit_16}
        if self._hardware.modern:
            self._frames |= {0x10: self._transmit_any, 0x11: self._transmit_explicit}
            self._frames |= {0x2D: self._relay}
        if isinstance(radio.addressing, Zigbee):
            self._trust_center = radio.addressing
            self._frames |= {0x24: self._register_joining}

    def handle(self, frame: bytes, now: int) -> None:
        """Handle one frame's data from the client."""
        action = self._frames.get(frame[0])
        if action is not None and len(frame) >= SHORTEST[frame[0]]:
            action(frame, now)

    # --- commands -------------------------------------------------------------------------------

    def _command(self, frame: bytes, now: int) -> None:
        frame_id, letters, value = frame[1], frame[2:4], frame[4:]
        queued = frame[0] == 0x09
        if not queued:
            self._commands.apply(now)  # the values of earlier frames 09

        name = letters.upper().decode("latin-1")
        sample_apart = name == "IS" and self._hardware.family == MAC_FAMILY

        def reply(answer: Answer, when: int) -> None:
            if frame_id and not answer.text_only:
                head = bytes((0x88, frame_id)) + letters + bytes((answer.status,))
                self._line.send_answer(head + (b"" if sample_apart else answer.value), when)
            if sample_apart and answer.value:
                self._line.send_answer(self._own_sample(answer.value), when)

        self._commands.run(name, value or None, reply, now, hold=queued)

    def _own_sample(self, data: bytes) -> bytes:
        # The frame of the sample of IS; on 802.15.4 it follows the answer as if it had been
        # received.
        source = self._settings.address.to_bytes(8, "big")
        if uses_standard_format(self._settings):
            return b"\x82" + source + b"\0\0" + data  # RSSI and options 0
        return b"\x92" + source + UNKNOWN16.to_bytes(2, "big") + b"\0" + data

    def _relay(self, frame: bytes, now: int) -> None:
        # User data relay: the serial line is the only interface of this mock.
        frame_id, interface, data = frame[1], frame[2], frame[3:]
        answer = self._line.send_answer
        if interface == RELAY_SERIAL:
            answer(bytes((0xAD, RELAY_SERIAL)) + data, now)
        elif frame_id:
            known = interface in (RELAY_BLE, RELAY_MICROPYTHON)
            code = Delivery.RELAY_REFUSED if known else Delivery.RELAY_INVALID
            answer(bytes((0x89, frame_id, code)), now)

    def _register_joining(self, frame: bytes, now: int) -> None:
        # Register a joining device: 64-bit address, two reserved bytes, kind of key, key.
        status = self._trust_center.register(number(frame, 2, 10), frame[12], frame[13:], now)
        if frame[1]:
            self._line.send_answer(bytes((0xA4, frame[1], status)), now)

    # --- transmissions --------------------------------------------------------------------------

    def _transmit_64(self, frame: bytes, now: int) -> None:
        self._transmit(Request(frame[11:], number(frame, 2, 10), options=frame[10]), frame, now)

    def _transmit_16(self, frame: bytes, now: int) -> None:
        request = Request(frame[5:], UNKNOWN64, number(frame, 2, 4), frame[4])
        self._transmit(request, frame, now)

    def _transmit_any(self, frame: bytes, now: int) -> None:
        options = frame[13]
        if self._hardware.family == MAC_FAMILY and options & EVERY_PAN_IN_10:
            options |= EVERY_PAN
        request = Request(frame[14:], number(frame, 2, 10), number(frame, 10, 12), options)
        self._transmit(request, frame, now)

    def _transmit_explicit(self, frame: bytes, now: int) -> None:
        endpoints = Endpoints(frame[12], frame[13], number(frame, 14, 16), number(frame, 16, 18))
        destination16 = number(frame, 10, 12)
        request = Request(frame[20:], number(frame, 2, 10), destination16, frame[19], endpoints)
        self._transmit(request, frame, now)

    def _transmit(self, request: Request, frame: bytes, received_at: int) -> None:
        kind, frame_id = frame[0], frame[1]

        def done(outcome: Outcome, now: int) -> None:
            if not frame_id:
                return
            if kind in (0x00, 0x01):
                answer = bytes((0x89, frame_id, outcome.status))
            else:
                answer = self._extended_status(frame_id, request, outcome)
            self._line.send_answer(answer, now, received_at)

        refusal = self._radio.send(request, done, received_at)
        if refusal:
            done(Outcome(refusal), received_at)
        if refusal == Delivery.SELF_ADDRESSED and zdo.is_zdo(request.endpoints):
            self._answer_itself(request, received_at)

    def _answer_itself(self, request: Request, now: int) -> None:
        # A ZDO request to the module's own address is answered without the radio.
        cluster = request.endpoints.cluster
        data = self._trust_center.answer_zdo(cluster, request.data, now)
        if data is not None:
            ends = zdo.endpoints(cluster | zdo.RESPONSE)
            own = Request(data, self._settings.address, endpoints=ends)
            self.deliver(self._trust_center.packet(own), 0, now)

    def _extended_status(self, frame_id: int, request: Request, outcome: Outcome) -> bytes:
        destination = request.destination16
        if self._hardware.family == MESH_FAMILY:
            destination = UNKNOWN16
        elif outcome.receiver is not None:
            destination = outcome.receiver.short
        elif outcome.status:
            destination = INVALID16
        head = bytes((0x8B, frame_id)) + destination.to_bytes(2, "big")
        return head + bytes((min(outcome.retries, 0xFF), outcome.status, outcome.discovery))

    # --- packets from the air -------------------------------------------------------------------

    def deliver(self, packet: Packet, rssi_dbm: int, now: int) -> None:
        """Deliver a data packet: 80 or 81 with RSSI, 90, or 91 with endpoints; AO decides."""
        frame = self._received_frame(packet, rssi_dbm)
        if frame is not None:
            self._line.deliver_frame(frame, now)

    def deliver_destination(self, addresses: bytes, now: int) -> None:
        """Report the new and the old destination when another module's AG changed it (8E)."""
        self._line.send_answer(b"\x8e\0" + addresses, now)

    def deliver_samples(self, packet: Packet, body: Samples, rssi_dbm: int, now: int) -> None:
        """Deliver samples of another module's pins: 82 or 83; 92, or 91 with their cluster."""
        options = self._radio.addressing.receive_options(packet)
        short = packet.source16.to_bytes(2, "big")
        if uses_standard_format(self._settings):
            if all(sample.standard.empty for sample in body.taken):
                return
            is_long = packet.source16 == UNKNOWN16
            source = packet.source64.to_bytes(8, "big") if is_long else short
            head = (b"\x82" if is_long else b"\x83") + source + bytes((-rssi_dbm, options))
            self._line.deliver_frame(head + standard_data(body.taken), now)
            return
        hidden = self._hardware.family == MAC_FAMILY and packet.source16 != UNKNOWN16
        source = (UNKNOWN64 if hidden else packet.source64).to_bytes(8, "big") + short
        kind, service = b"\x92", b""
        if self._hardware.family != MAC_FAMILY and self._settings.number("AO") & AO_EXPLICIT:
            ends = SERIAL_DATA
            kind, service = b"\x91", bytes((ends.source, ends.destination))
            service += SAMPLE_CLUSTER.to_bytes(2, "big") + ends.profile.to_bytes(2, "big")
        head = kind + source + service + bytes((options,))
        self._line.deliver_frame(head + extended_data(body.taken[-1]), now)

    def _received_frame(self, packet: Packet, rssi_dbm: int) -> bytes | None:
        plain = self._hardware.family == MAC_FAMILY
        output = self._settings.number("AO") if self._hardware.modern else AO_LEGACY
        options = self._radio.addressing.receive_options(packet)
        short = packet.source16.to_bytes(2, "big")
        if plain and output == AO_LEGACY:
            tail = bytes((-rssi_dbm, options)) + packet.data
            if packet.source16 == UNKNOWN16:
                return b"\x80" + packet.source64.to_bytes(8, "big") + tail
            return b"\x81" + short + tail
        if plain and packet.acknowledged:
            options |= 0x01
        # A MAC frame carries one source address; the other is unknown.
        hidden = plain and packet.source16 != UNKNOWN16
        source = (UNKNOWN64 if hidden else packet.source64).to_bytes(8, "big") + short
        ends = packet.request.endpoints
        if output & AO_EXPLICIT:
            service = ends.cluster.to_bytes(2, "big") + ends.profile.to_bytes(2, "big")
            head = b"\x91" + source + bytes((ends.source, ends.destination)) + service
            return head + bytes((options,)) + packet.data
        if (ends.destination, ends.cluster) != (SERIAL_DATA.destination, SERIAL_DATA.cluster):
            return None  # nothing for the serial line
        return b"\x90" + source + bytes((options,)) + packet.data
