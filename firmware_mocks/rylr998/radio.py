"""The module's LoRa radio: what it is tuned to, how long, how loud, half duplex."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_mocks.air import Radio, Signal
from firmware_mocks.base import MS
from firmware_mocks.rylr998.registers import FULL_POWER_DBM

if TYPE_CHECKING:
    from firmware_mocks.rylr998.module import Module

PACKET_OVERHEAD = 8  # bytes the module adds on the air
NOISE_FIGURE_DB = 6.0
BANDWIDTH_HZ = {7: 125e3, 8: 250e3, 9: 500e3}


@dataclass(frozen=True, slots=True)
class Packet:
    """What is on the air."""

    sender: int
    destination: int
    data: bytes
    password: str


class Transceiver:
    """One module in the air; `Air` sees it as a Radio. sending: it hears nothing meanwhile."""

    def __init__(self, module: Module, position: tuple[float, float, float]) -> None:
        self.module = module
        self.name = module.name
        self.position = position
        self.rssi_at_1m_dbm = -40.0
        self.sensitivity_dbm = 0.0
        self.sending = False
        self._life = 0
        self.retune()

    def restart(self) -> None:
        self.sending = False
        self._life += 1

    @property
    def _parameter(self) -> tuple[int, int, int, int]:
        sf, bandwidth, coding, preamble = map(int, self.module.registers["PARAMETER"].split(","))
        return sf, bandwidth, coding, preamble

    @property
    def noise_dbm(self) -> float:
        return -174 + 10 * math.log10(BANDWIDTH_HZ[self._parameter[1]]) + NOISE_FIGURE_DB

    def retune(self) -> None:
        """LoRa hears below the noise: 7.5 dB at SF7, 2.5 dB more with each step."""
        self.sensitivity_dbm = self.noise_dbm - 7.5 - 2.5 * (self._parameter[0] - 7)

    @property
    def band(self) -> Hashable:
        return None if self.sending or not self.module.listens else self._tuned

    @property
    def _tuned(self) -> Hashable:
        registers = self.module.registers
        frequency = registers["BAND"].removesuffix(",M")
        return ("lora", frequency, registers["NETWORKID"], *self._parameter[:2])

    def air_ns(self, size: int) -> int:
        """Preamble, sync word and header, and the payload with its CRC."""
        sf, bandwidth, coding, preamble = self._parameter
        symbol_ns = 2.0**sf / BANDWIDTH_HZ[bandwidth] * 1e9
        slow = symbol_ns > 16 * MS
        blocks = math.ceil((8 * (size + PACKET_OVERHEAD) - 4 * sf + 44) / (4 * (sf - 2 * slow)))
        return round((preamble + 12.25 + max(0, blocks) * (4 + coding)) * symbol_ns)

    def send(
        self, destination: int, data: bytes, done: Callable[[int], None] | None, now: int
    ) -> None:
        """`done` hears when the packet is through the air, unless the module restarted."""
        self.sending = True
        life, registers = self._life, self.module.registers

        def sent(_: list[Radio], when: int) -> None:
            if life == self._life:
                self.sending = False
                if done is not None:
                    done(when)

        packet = Packet(int(registers["ADDRESS"]), destination, data, registers["CPIN"])
        power = self.rssi_at_1m_dbm + int(registers["CRFOP"]) - FULL_POWER_DBM
        signal = Signal(self, self._tuned, packet, power, self.air_ns(len(data)))
        self.module.air.transmit(signal, sent, now)

    def hear(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        """LoRa has no acknowledgement of its own: never one."""
        packet = signal.frame
        registers = self.module.registers
        assert isinstance(packet, Packet)
        for_us = packet.destination in (0, int(registers["ADDRESS"]))
        if for_us and packet.password == registers["CPIN"]:
            self.module.hear(packet, rssi_dbm, now)
        return False
