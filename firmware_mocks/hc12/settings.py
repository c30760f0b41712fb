"""The settings of the module, their ranges, and the air rate, delay and power that follow."""

from dataclasses import dataclass

from firmware_mocks.base import MS

PARAMETERS: dict[str, str] = {
    "B": "UART rate, bit/s: 1200 2400 4800 9600 19200 38400 57600 115200 (default 9600)",
    "C": "channel, 1 to 127 (default 1)",
    "FU": "mode, 1 to 4 (default 3)",
    "P": "power, 1 to 8: -1 to 20 dBm (default 8)",
    "U": "serial mode: data bits, parity N, E or O, and stop bits (default 8N1)",
    "byteSize": "bits per byte on the UART, 10 is 8N1 (default 10)",
    "command_rate": "UART rate in command mode: current or 9600 (default current)",
    "spelling": "form of the replies to AT+RB, RC, RF, RP, RX: plain, as in manual V2.4 (OK+B9600, "
    "OK+C001, OK+FU3, OK+RP:+8dBm); 2.3B, as in manual V2.3B (OK+RC001, OK+RP:+08dBm); module: "
    "2.3B, and AT+RX answers in the order B, RC, RP, FU; long: with R (OK+RB9600, OK+RC001, "
    "OK+RFU3) (default plain)",
    "unknown": "reply to an unknown command: silence or ERROR (default silence)",
    "version": "reply to AT+V (default HC-12_V2.4)",
    "set_by": "modem line of the client on the SET pin: dtr, rts or none (default none)",
    "set_low": "state of that line that pulls SET low: on or off (default on)",
    "set": "level of the SET pin: high or low (default high)",
    "framing": "framing of the packets in `replies` (default cobs-crc16)",
    "replies": "KEY:VALUE, e.g. ping:pong: a device behind it returns a packet that begins with "
    "KEY, with VALUE in place of KEY (default: none)",
    "rssi_at_1m_dbm": "RSSI of its signal 1 m away at full power (default -40)",
    "position": "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)",
}
RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200)
POWERS_DBM = (-1, 2, 5, 8, 11, 14, 17, 20)
# FU3, for each pair of RATES: bit/s on the air, and the delay of a byte in ms.
FU3_AIR = ((5_000, 80), (15_000, 30), (58_000, 12), (236_000, 4))
SENSITIVITY_DBM = {500: -124, 5_000: -116, 15_000: -111, 58_000: -106, 236_000: -100, 250_000: -100}


@dataclass(slots=True)
class Settings:
    """The settings with their factory values."""

    baud_rate: int = 9600
    channel: int = 1
    mode: int = 3
    power: int = 8
    bits_per_byte: int = 10
    line: str = "8N1"

    def set_default(self) -> None:
        """Execute AT+DEFAULT: power stays as it is."""
        self.baud_rate, self.channel, self.mode = 9600, 1, 3
        self.bits_per_byte, self.line = 10, "8N1"

    def enter_mode(self, mode: int) -> None:
        """Enter a mode: FU2 lowers the UART's rate to 4800, FU4 to 1200."""
        self.mode = mode
        self.baud_rate = min(self.baud_rate, {2: 4800, 4: 1200}.get(mode, 115_200))

    @property
    def _pair(self) -> int:
        return RATES.index(self.baud_rate) // 2

    @property
    def air_bps(self) -> int:
        if self.mode == 3:
            return FU3_AIR[self._pair][0]
        return 500 if self.mode == 4 else 250_000

    @property
    def delay_ns(self) -> int:
        """The time from a byte at the sender's UART to the same byte at the receiver's."""
        ms = FU3_AIR[self._pair][1] if self.mode == 3 else {1: 20, 2: 500, 4: 1000}[self.mode]
        return ms * MS

    @property
    def power_dbm(self) -> int:
        return POWERS_DBM[self.power - 1]
