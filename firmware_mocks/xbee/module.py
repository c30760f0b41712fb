"""An XBee module: its parts wired together, its power, and the packets it receives."""

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock
from firmware_mocks.parameters import replies_text, reply_to
from firmware_mocks.xbee.hardware import MAC_FAMILY, MESH_FAMILY, Hardware, nominal_rate
from firmware_mocks.xbee.network import zdo
from firmware_mocks.xbee.network.addressing import Addressing, Mac, Mesh
from firmware_mocks.xbee.network.discovery import Aggregation, Discovery, Node, Query
from firmware_mocks.xbee.network.packets import (
    DATA,
    DATA_CLUSTER,
    LOOPBACK_CLUSTER,
    SERIAL_DATA,
    UNKNOWN16,
    UNKNOWN64,
    Endpoints,
    Packet,
    Request,
    ignore,
)
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.network.scanning import ActiveScan, EnergyScan
from firmware_mocks.xbee.network.zigbee import NETWORK_RESET, Zigbee
from firmware_mocks.xbee.sampling import Sampler, Samples
from firmware_mocks.xbee.settings import Settings, assign
from firmware_mocks.xbee.uart.api import Api
from firmware_mocks.xbee.uart.commands import (
    Commands,
    RemoteCommand,
    RemoteCommands,
    RemoteResponse,
    Search,
)
from firmware_mocks.xbee.uart.serial_input import SerialInput
from firmware_mocks.xbee.uart.serial_line import POWER_UP, REPLY_NS, SerialLine

AO_ZDO = 0x02  # the client answers ZDO requests
RESTART_NS = 200 * MS


class Module(Mock):
    """A module on a serial line. It powers up with the first call that has a time."""

    def __init__(
        self,
        name: str,
        air: Air,
        hardware: Hardware,
        values: Mapping[str, Any],
        position: tuple[float, float, float],
    ) -> None:
        super().__init__(name, air.seed)
        self._power = "new"  # or on, off
        settings = self.settings = Settings(name, hardware, position)
        self.registers = settings.registers
        line = self.line = SerialLine(self.uart, settings)
        addressing = self.addressing = self._make_addressing()
        radio = self.radio = Transceiver(
            name, air, settings, addressing, self._packet_received, lambda now: self.input.work(now)
        )
        self._discovery = Discovery(settings, radio, self.timers, air.random)
        searches: dict[str, Search] = {"ND": self._discovery.search, "DN": self._discovery.resolve}
        self.sampler = Sampler(settings, radio, self.timers)
        searches["IS"] = self.sampler.answer
        searches["ED"] = EnergyScan(settings, self.timers).search
        if settings.hardware.family == MESH_FAMILY:
            searches |= {"FN": self._discovery.find_neighbours, "AG": self._discovery.aggregate}
        else:
            searches["AS"] = ActiveScan(settings, radio, self.timers).search
        if isinstance(addressing, Zigbee):
            searches["NR"] = addressing.reset_network
        commands = Commands(
            settings, line, addressing, self._restart_soon, searches, self.sampler.settings_changed
        )
        self._remote = RemoteCommands(settings, radio, line, commands)
        self._api = Api(settings, radio, line, commands, self._remote)
        self.input = SerialInput(settings, self.timers, line, radio, commands, self._api)
        for key, value in values.items():
            self.set(key, value)
        air.join(radio)

    def _make_addressing(self) -> Addressing:
        family = self.settings.hardware.family
        if family == MAC_FAMILY:
            return Mac(self.settings)
        if family == MESH_FAMILY:
            return Mesh(self.settings)
        return Zigbee(
            self.settings,
            self.line,
            self.timers,
            in_reach=lambda: (other.addressing for other in self.radio.in_reach()),
            links=lambda: ((other.addressing, rssi) for other, rssi in self.radio.neighbours()),
            others=lambda: (other.addressing for other in self.radio.others()),
            send=lambda request, done, now: self.radio.send(request, done, now),
        )

    def set(self, name: str, value: Any) -> None:
        # Saved as with WR.
        assign(self.settings, name, value)
        self.line.use_settings(0)
        if self._power == "on":
            self.timers.start("pins", 0, self.sampler.look)

    def describe(self) -> str:
        number = self.registers.number
        parts = [self.settings.hardware.title, f"{self.address:016X}"]
        if "CH" in self.registers:
            parts.append(f"channel {number('CH')}")
        parts.append(f"PAN {number('ID'):04X}")
        parts.append(f"API mode {number('AP')}" if number("AP") else "transparent mode")
        parts.append(f"{nominal_rate(number('BD'))} baud")
        parts.append("at {:g}, {:g}, {:g} m".format(*self.settings.position))
        if self.settings.replies:
            parts.append(replies_text(self.settings.replies))
        return ", ".join(parts)

    @property
    def address(self) -> int:
        return self.settings.address

    @property
    def clear_to_send(self) -> bool:
        """May the client send? One that ignores CTS always does, and overruns the buffer."""
        return self.input.clear_to_send or not self.settings.flow_control

    # --- power and time -------------------------------------------------------------------------

    def reset(self, now: int) -> None:
        self._power = "on"
        self.timers.clear()
        self.registers.restart()
        self.radio.off = False
        self.radio.restart()
        self._discovery.restart()
        self._remote.restart()
        self.line.restart(now)
        self.input.restart(now)
        self.line.send_modem_status(POWER_UP, now)
        self.addressing.restart(now)
        self.sampler.restart(now)

    def _restart_soon(self, now: int) -> None:
        # FR: once the answer is out.
        self.timers.start("restart", now + REPLY_NS + RESTART_NS, self.reset)

    def switch_off(self) -> None:
        self._power = "off"
        self.timers.clear()
        self.radio.off = True
        self.radio.restart()
        self.line.restart(0)
        self.input.restart(0)

    def advance(self, now: int) -> None:
        if self._power == "new":
            self.reset(now)
        super().advance(now)
        self.input.work(now)

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._power != "off":
            self.input.receive(data, now)

    # --- packets from the air -------------------------------------------------------------------

    def _packet_received(self, packet: Packet, rssi_dbm: float, now: int) -> None:
        # A packet for this module, for the first time.
        if self._power == "new":
            self.reset(now)
        weakest, strongest = self.settings.hardware.rssi_dbm
        rssi = round(min(max(rssi_dbm, weakest), strongest))
        self.registers.put("DB", -rssi)
        if packet.key != self.addressing.key or packet.header != self.settings.has_header:
            return
        body = packet.request.body
        if packet.request.kind == DATA:
            self._receive_data(packet, rssi, now)
        elif isinstance(body, Query):
            self._discovery.answer(packet, body, now)
        elif isinstance(body, Aggregation):
            changed = self._discovery.follow(packet, body)
            if changed is not None and self.line.api_mode:
                self._api.deliver_destination(changed, now)
        elif isinstance(body, Node):
            self._discovery.receive(body, rssi, now)
        elif isinstance(body, Samples):
            if self.line.api_mode and self.settings.shows_samples:
                self._api.deliver_samples(packet, body, rssi, now)
        elif isinstance(body, RemoteCommand):
            self._remote.execute(packet, body, now)
        elif isinstance(body, RemoteResponse):
            self._remote.receive(packet, body, now)
        elif packet.request.kind == NETWORK_RESET:
            self.addressing.restart(now)

    def _receive_data(self, packet: Packet, rssi_dbm: int, now: int) -> None:
        ends = packet.request.endpoints
        if ends.cluster == LOOPBACK_CLUSTER:
            back = Endpoints(ends.destination, ends.source, DATA_CLUSTER, ends.profile)
            self._send_back(packet, packet.data, back, now)
            return
        if zdo.is_zdo(ends) and self._answer_zdo(packet, now):
            return
        self._reply(packet, now)
        if self.line.api_mode:
            self._api.deliver(packet, rssi_dbm, now)
        elif ends.cluster == DATA_CLUSTER:
            self.line.deliver(packet.data, now)

    def _answer_zdo(self, packet: Packet, now: int) -> bool:
        cluster = packet.request.endpoints.cluster
        passed_on = self.settings.number("AO") & AO_ZDO and cluster in zdo.PASSED_ON
        if passed_on or not isinstance(self.addressing, Zigbee):
            return False
        answer = self.addressing.answer_zdo(cluster, packet.data, now)
        if answer is None:
            return False
        self._send_back(packet, answer, zdo.endpoints(cluster | zdo.RESPONSE), now)
        return True

    def _reply(self, packet: Packet, now: int) -> None:
        data = reply_to(self.settings.replies, packet.data)
        if data is not None:
            self._send_back(packet, data, SERIAL_DATA, now)

    def _send_back(self, packet: Packet, data: bytes, endpoints: Endpoints, now: int) -> None:
        short = packet.source16 != UNKNOWN16 and self.settings.has_short_addresses
        destination64 = UNKNOWN64 if short else packet.source64
        request = Request(data, destination64, packet.source16, endpoints=endpoints)
        self.radio.send(request, ignore, now)
