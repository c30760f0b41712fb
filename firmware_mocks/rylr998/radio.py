"""The module's LoRa radio: band, air time, sensitivity; half duplex."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import MS
from firmware_mocks.rylr998.settings import FULL_POWER_DBM

PACKET_OVERHEAD = 8  # bytes the module adds on the air
NOISE_FIGURE_DB = 6.0
BANDWIDTH_HZ = {7: 125e3, 8: 250e3, 9: 500e3}


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet on the air."""

    sender: int
    destination: int
    data: bytes
    password: str


class Transceiver:
    """The radio of one module; `Air` sees it as a Radio.

    received: called with a packet for this module, its RSSI in dBm and the time. listening: the
    module is powered and awake. sending: it receives nothing meanwhile.
    """

    def __init__(
        self,
        name: str,
        air: Air,
        settings: Mapping[str, str],
        position: tuple[float, float, float],
        received: Callable[[Packet, float, int], None],
    ) -> None:
        self.name = name
        self.position = position
        self.rssi_at_1m_dbm = -40.0
        self.sensitivity_dbm = 0.0
        self.listening = True
        self.sending = False
        self._air = air
        self._settings = settings
        self._received = received
        self._life = 0
        self.retune()

    def restart(self) -> None:
        self.sending = False
        self._life += 1

    @property
    def _parameter(self) -> tuple[int, int, int, int]:
        sf, bandwidth, coding, preamble = map(int, self._settings["PARAMETER"].split(","))
        return sf, bandwidth, coding, preamble

    @property
    def noise_dbm(self) -> float:
        return -174 + 10 * math.log10(BANDWIDTH_HZ[self._parameter[1]]) + NOISE_FIGURE_DB

    def retune(self) -> None:
        """Set the sensitivity: LoRa receives 7.5 dB below the noise at SF7, 2.5 more per step."""
        self.sensitivity_dbm = self.noise_dbm - 7.5 - 2.5 * (self._parameter[0] - 7)

    @property
    def band(self) -> Hashable:
        return self._tuned if self.listening and not self.sending else None

    @property
    def _tuned(self) -> Hashable:
        frequency = self._settings["BAND"].removesuffix(",M")
        return ("lora", frequency, self._settings["NETWORKID"], *self._parameter[:2])

    def air_ns(self, size: int) -> int:
        """Return the time of preamble, sync word and header, and of the payload with its CRC."""
        sf, bandwidth, coding, preamble = self._parameter
        symbol_ns = 2.0**sf / BANDWIDTH_HZ[bandwidth] * 1e9
        slow = symbol_ns > 16 * MS
        blocks = math.ceil((8 * (size + PACKET_OVERHEAD) - 4 * sf + 44) / (4 * (sf - 2 * slow)))
        return round((preamble + 12.25 + max(0, blocks) * (4 + coding)) * symbol_ns)

    def send(
        self, destination: int, data: bytes, done: Callable[[int], None] | None, now: int
    ) -> None:
        """Send a packet; `done` is called when it has been sent, unless the module restarted."""
        self.sending = True
        life, settings = self._life, self._settings

        def sent(_: list[Radio], when: int) -> None:
            if life == self._life:
                self.sending = False
                if done is not None:
                    done(when)

        packet = Packet(int(settings["ADDRESS"]), destination, data, settings["CPIN"])
        power = self.rssi_at_1m_dbm + int(settings["CRFOP"]) - FULL_POWER_DBM
        signal = Signal(self, self._tuned, packet, power, self.air_ns(len(data)))
        self._air.transmit(signal, sent, now)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        # A frame arrived. LoRa has no acknowledgements.
        packet = signal.frame
        assert isinstance(packet, Packet)
        for_us = packet.destination in (0, int(self._settings["ADDRESS"]))
        if for_us and packet.password == self._settings["CPIN"]:
            self._received(packet, rssi_dbm, now)
        return False
