"""An IrDA SIR transceiver on a UART, and a device behind one.

It sends bytes as they come, and every transceiver in reach at the same rate receives them; so
does the sender itself, unless its receiver is off while it sends. A device with `replies` has no
client: it reads frames for its address and answers after the turnaround time. Independent
reading of IrDA's Serial Infrared Physical Layer and Link Access Protocol: 8N1, 2400 to 115200
bit/s, about 1 m in a cone of 30 degrees; XBOF FF, BOF C0, EOF C1, escape 7D with bit 5 inverted,
FCS of X.25, low byte first.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._framing.crc import NAMED, CrcField
from firmware_mocks._framing.framings import ESCAPE, escaped, unescaped
from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import Adjustable, creator
from firmware_mocks.parameters import Parameters, parameter

SUMMARY = "IrDA SIR transceivers on a UART, half duplex, receiving their own light"
RATES = (2400, 9600, 19200, 38400, 57600, 115200)
SENSITIVITY_DBM = -60.0  # the RSSI at a little more than 1 m
POWER_DBM = -59.0
LONGEST = 4200
BOF, EOF = 0xC0, 0xC1
SPECIAL = (BOF, EOF, ESCAPE)
FCS = CrcField(NAMED["x-25"], "little")


def _rate(name: str, value: Any) -> int:
    if not str(value).isdigit() or int(value) not in RATES:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(map(str, RATES))}")
    return int(value)


def _address(name: str, value: Any) -> int:
    if not str(value).isdigit() or int(value) > 126:
        raise ValueError(f"{name}: {value!r} is not a number from 0 to 126")
    return int(value)


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a transceiver, and of the device behind it."""

    baud_rate: int = parameter(
        f"rate of UART and light, bit/s: {', '.join(map(str, RATES))}", 9600, _rate, name="baudRate"
    )
    echo: bool = parameter("it receives its own light: true or false", "true", values.true)
    address: int = parameter("address of the device that answers, 0 to 126", 0, _address)
    replies: dict[bytes, bytes] = parameter(
        "KEY:VALUE, e.g. ping:pong: a device behind it returns a frame that begins with KEY, with "
        "VALUE in place of KEY (default: none)",
        {},
        values.replies,
    )
    turnaround_ns: int = parameter(
        "pause before an answer", 10, values.milliseconds, 0, 10_000, name="turnaround_ms"
    )
    position: tuple[float, float, float] = values.in_air()


class Transceiver(Adjustable[Settings]):
    """The transceiver and, with `replies`, a device behind it."""

    sensitivity_dbm = SENSITIVITY_DBM

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings, air.seed)
        self._input = bytearray()
        self.uart.baud_rate = settings.baud_rate
        air.join(self)

    @property
    def position(self) -> tuple[float, float, float]:
        return self.settings.position

    @property
    def band(self) -> Hashable:
        return ("light", self.uart.baud_rate)

    # --- the UART -------------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        data = self.uart.distort(data)
        if self.settings.echo:
            self.uart.write(data, now)
        self._send(data, now)

    def _send(self, data: bytes, now: int) -> None:
        signal = Signal(self, self.band, data, POWER_DBM, len(data) * self.uart.byte_ns)
        self.air.transmit(signal, _ignore, now)

    # --- the light ------------------------------------------------------------------------------

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        data = signal.frame
        assert isinstance(data, bytes)
        if self.settings.replies:
            self._take(data, now)
        else:
            self.uart.write(data, now)
        return False

    def _take(self, data: bytes, now: int) -> None:
        for byte in data:
            if byte == BOF:
                self._input.clear()
            elif byte == EOF:
                self._answer(bytes(self._input), now)
                self._input.clear()
            elif len(self._input) < LONGEST:
                self._input.append(byte)

    def _answer(self, inner: bytes, now: int) -> None:
        frame = unwrap(inner)
        if frame is None or len(frame) < 3:
            return
        address, control, data = frame[0] >> 1, frame[1], frame[2:]
        if control != 0x03 or address not in (self.settings.address, 127):
            return
        reply = values.reply_to(self.settings.replies, data)
        if reply is not None:
            answer = wrap(bytes((self.settings.address << 1, 0x03)) + reply)
            self._send_later(answer, now + self.settings.turnaround_ns)

    def _send_later(self, data: bytes, when: int) -> None:
        self.air.call_at(when, lambda due: self._send(data, due))

    # --- parameters -----------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        self.uart.baud_rate = self.settings.baud_rate

    def reset(self, now: int) -> None:
        self.uart.clear()
        self._input.clear()

    def describe(self) -> str:
        role = "device" if self.settings.replies else "transceiver"
        return f"IrDA SIR {role}, {self.uart.baud_rate} bit/s"


def _ignore(acknowledged: list[Radio], now: int) -> None:
    """Light is not acknowledged."""


# --- frames ---------------------------------------------------------------------------------------


def wrap(frame: bytes) -> bytes:
    """Return XBOFs, BOF, the frame with its FCS, escaped, EOF."""
    return b"\xff" * 10 + bytes((BOF,)) + escaped(FCS.append(frame), SPECIAL) + bytes((EOF,))


def unwrap(inner: bytes) -> bytes | None:
    """Return the frame between BOF and EOF; None when it is damaged."""
    frame = unescaped(inner)
    return None if frame is None else FCS.check(frame)


PARAMETERS = Settings.texts()

create = creator(Transceiver, Settings)
