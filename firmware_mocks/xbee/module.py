"""One XBee module: its registers, its serial side, its radio, and how they meet."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock
from firmware_mocks.xbee import discovery, parameters, remote, status
from firmware_mocks.xbee.addressing import Addressing, Mac
from firmware_mocks.xbee.api import Api
from firmware_mocks.xbee.commands import Commands
from firmware_mocks.xbee.hardware import (
    MAC_FAMILY,
    MESH_FAMILY,
    ZIGBEE_FAMILY,
    Hardware,
    nominal_rate,
)
from firmware_mocks.xbee.mesh import Mesh
from firmware_mocks.xbee.packets import (
    Done,
    Outcome,
    Packet,
    Request,
)
from firmware_mocks.xbee.radio import Transceiver
from firmware_mocks.xbee.reception import Reception
from firmware_mocks.xbee.registers import Registers
from firmware_mocks.xbee.serial import REPLY_NS, SerialSide
from firmware_mocks.xbee.zigbee import Zigbee

FAMILIES: dict[str, Callable[[Module], Addressing]] = {
    MAC_FAMILY: Mac,
    MESH_FAMILY: Mesh,
    ZIGBEE_FAMILY: Zigbee,
}
RESTART_NS = 200 * MS
ASSOCIATION_NS = 100 * MS
FASTEST_BPS = 250_000
BITS_PER_S = {0: 10_000, 1: 200_000}  # 900HP, by BR
CAPPED_CHANNEL, CAP_DBM = 0x1A, 8
LINE = frozenset(("BD", "NB", "SB", "AP"))
NETWORK = frozenset(("CE", "ID", "SC", "ZS", "EE", "KY"))


class Module(Mock):
    """A module with a serial line. It powers up with the first call that names a time."""

    def __init__(
        self,
        name: str,
        air: Air,
        hardware: Hardware,
        values: Mapping[str, Any],
        position: tuple[float, float, float],
    ) -> None:
        super().__init__(name, air.seed)
        self.air = air
        self.hardware = hardware
        serial = 0x40000000 | zlib.crc32(name.encode()) & 0x0FFFFFFF
        self.registers = Registers(hardware.registers, {"SL": serial})
        self.registers.install("NI", name.encode("ascii", "replace")[:20])
        self.rssi_at_1m_dbm = -40.0
        self.noise_dbm = -110.0
        self.replies: dict[bytes, bytes] = {}
        self.flow_control = False
        self.powered = False
        self._off = False
        self._threshold_dbm = 0
        self._sequence = 0
        self.addressing = FAMILIES[hardware.family](self)
        self.radio = Transceiver(self, position)
        self.discovery = discovery.Discovery(self)
        self.remote = remote.Remote(self)
        self.commands = Commands(self)
        self.api = Api(self)
        self.reception = Reception(self)
        self.serial = SerialSide(self)
        for key, value in values.items():
            self.assign(key, value)
        air.join(self.radio)

    def assign(self, name: str, value: Any) -> None:
        """Give a parameter, as saved with WR. ValueError says what is allowed."""
        parameters.assign(self, name, value)
        self.serial.use_line(0)

    def set(self, name: str, value: str) -> None:
        self.assign(name, value)

    def describe(self) -> str:
        number = self.registers.number
        parts = [self.hardware.title, f"{self.address:016X}"]
        if "CH" in self.registers:
            parts.append(f"channel {number('CH')}")
        parts.append(f"PAN {number('ID'):04X}")
        parts.append(f"API mode {number('AP')}" if number("AP") else "transparent mode")
        parts.append(f"{nominal_rate(number('BD'))} baud")
        parts.append("at {:g}, {:g}, {:g} m".format(*self.radio.position))
        if self.replies:
            parts.append("answers " + ", ".join(repr(key.decode()) for key in self.replies))
        return ", ".join(parts)

    # --- facts ----------------------------------------------------------------------------------

    @property
    def address(self) -> int:
        return self.registers.number("SH") << 32 | self.registers.number("SL")

    @property
    def band(self) -> Hashable:
        if self._off:
            return None
        number = self.registers.number
        return (self.hardware.band, number("CH"), number("HP"), number("BR"))

    @property
    def air_bps(self) -> int:
        if "BR" in self.registers:
            return BITS_PER_S[self.registers.number("BR")]
        return FASTEST_BPS

    @property
    def clear_to_send(self) -> bool:
        """May a client that obeys CTS send now? Others always do, and overrun the buffer."""
        return self.serial.clear_to_send or not self.flow_control

    @property
    def power_dbm(self) -> int:
        power = self.hardware.powers_dbm[self.registers.number("PL")]
        return min(power, CAP_DBM) if self.registers.number("CH") == CAPPED_CHANNEL else power

    @property
    def power_at_1m_dbm(self) -> float:
        """rssi_at_1m_dbm is what full power gives."""
        return self.rssi_at_1m_dbm + self.power_dbm - self.hardware.powers_dbm[-1]

    @property
    def key(self) -> bytes:
        """What packets are encrypted with; empty: they are not."""
        return self.registers.text("KY") if self.registers.number("EE") else b""

    @property
    def has_header(self) -> bool:
        """MM 1 and 2 leave out Digi's header, and with it all that needs one."""
        return self.registers.number("MM") in (0, 3)

    @property
    def has_short_addresses(self) -> bool:
        return self.hardware.family == MAC_FAMILY

    def family_members(self) -> Iterator[Module]:
        """The other modules of this family in the air, near or far."""
        modules = (radio.module for radio in self.air.radios if isinstance(radio, Transceiver))
        family = self.hardware.family
        return (other for other in modules if other is not self and other.hardware.family == family)

    def in_reach(self) -> Iterator[Module]:
        """Those of them that this module's signal reaches."""
        for other in self.family_members():
            loudness = self.air.loudness_dbm(self.radio, self.power_at_1m_dbm, other.radio)
            if loudness >= other.radio.sensitivity_dbm:
                yield other

    def reaches(self, packet: Packet) -> bool:
        """Is there somebody in reach who would take this packet?"""
        return any(other.band == self.band and other.accepts(packet) for other in self.in_reach())

    def channel_is_noisy(self) -> bool:
        """CA 0 switches the test off; XBee 3 takes a new threshold with the next restart."""
        threshold = self.registers.number("CA")
        if threshold and self.hardware.modern:
            threshold = self._threshold_dbm or threshold
        return threshold > 0 and self.noise_dbm > -threshold

    def next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFF
        return self._sequence

    def count(self, name: str) -> None:
        """Add one to a counter that stops at FFFF."""
        if name in self.registers:
            self.registers.put(name, min(self.registers.number(name) + 1, 0xFFFF))

    # --- registers ------------------------------------------------------------------------------

    def reading(self, name: str) -> int | bytes:
        """The value a read gives; BadCommand."""
        self.registers.register(name)
        if name == "NP":
            return self.addressing.longest()
        if name == "PP":
            return self.power_dbm & 0xFF
        if name == "N?":
            return self.registers.number("NT") * 100
        return self.registers.held(name)

    def apply(self, now: int) -> None:
        """Use the values set so far."""
        changed = self.registers.apply()
        if changed & LINE:
            self.serial.line_changed()
        if changed & NETWORK and isinstance(self.addressing, Zigbee):
            self.addressing.leave()
            self._associate_soon(now)

    # --- power and time -------------------------------------------------------------------------

    def restart_soon(self, now: int) -> None:
        """FR: once the answer is out."""
        self.timers.start("restart", now + REPLY_NS + RESTART_NS, self.reset)

    def switch_off(self) -> None:
        self._off = True
        self.timers.clear()
        self.radio.restart()
        self.serial.restart(0)

    def reset(self, now: int) -> None:
        self.powered = True
        self._off = False
        self.timers.clear()
        self.registers.restart()
        self._threshold_dbm = self.registers.number("CA")
        self.radio.restart()
        self.discovery.restart()
        self.remote.restart()
        self.serial.restart(now)
        self.modem_status(status.POWER_UP, now)
        if isinstance(self.addressing, Zigbee):
            self.addressing.leave()
            self._associate_soon(now)

    def _associate_soon(self, now: int) -> None:
        if isinstance(self.addressing, Zigbee):
            self.timers.start("association", now + ASSOCIATION_NS, self.addressing.associate)

    def modem_status(self, code: int, now: int) -> None:
        if self.serial.api_mode:
            self.serial.answer(bytes((0x8A, code)), now)

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if not self._off:
            self.serial.receive(data, now)

    def advance(self, now: int) -> None:
        if not (self.powered or self._off):
            self.reset(now)
        super().advance(now)
        self.serial.work(now)

    # --- radio ----------------------------------------------------------------------------------

    def send(self, request: Request, done: Done, now: int) -> int:
        """Transmit; `done` hears the outcome. What cannot be sent: its delivery status."""
        refusal = self.addressing.refusal(request)
        if refusal:
            return refusal
        packet = self.addressing.packet(request)

        def finished(outcome: Outcome, when: int) -> None:
            done(self.addressing.concluded(packet, outcome), when)
            self.serial.work(when)

        self.radio.send(packet, finished, now)
        return status.SUCCESS

    def accepts(self, packet: Packet) -> bool:
        """Is a packet on this band for this module?"""
        return packet.family == self.hardware.family and self.addressing.accepts(packet)

    def heard(self, packet: Packet, rssi_dbm: float, now: int) -> None:
        """A packet for this module, for the first time."""
        if not self.powered:
            self.reset(now)
        weakest, strongest = self.hardware.rssi_dbm
        rssi = round(min(max(rssi_dbm, weakest), strongest))
        self.registers.put("DB", -rssi)
        if packet.key != self.key or packet.header != self.has_header:
            return
        self.reception.take(packet, rssi, now)
