"""The settings of a module: its registers, its position in the air, and the parameters of both.

Parameters are in human terms, or AT registers by their two letters.
"""

import zlib
from collections.abc import Callable, Hashable
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.xbee.circuit import pins_of
from firmware_mocks.xbee.hardware import KINDS, MAC_FAMILY, RATES, Hardware
from firmware_mocks.xbee.registers import BadCommand, BadValue, Registers

FASTEST_BPS = 250_000
BITS_PER_S = {0: 10_000, 1: 200_000}  # 900HP, by BR
CAPPED_CHANNEL, CAP_DBM = 0x1A, 8

PARAMETERS: dict[str, str] = {
    "hardware": f"kind of module: {', '.join(KINDS)} (default xbee3)",
    "position": "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)",
    "channel": "radio channel, CH (default 12, hex 0C); Zigbee: SC allows only it (default: "
    "11 to 25); 900HP: hopping HP (default: 0)",
    "pan_id": "network, ID (default 0x3332; DigiMesh and 900HP 0x7FFF; Zigbee 0, any)",
    "api_mode": "0 transparent, 1 frames, 2 escaped frames, AP (default 1)",
    "my": "16-bit address, MY (default 0xFFFF: the 64-bit address is used)",
    "ni": "node identifier, NI (default: the mock's name)",
    "address": "64-bit address, SH and SL, 16 hexadecimal digits (default: by the mock's name)",
    "power": "power level, PL, 0 to 4 (default 4)",
    "baudRate": "UART rate, BD, bit/s (default 9600)",
    "rtscts": "true: the client obeys CTS and waits before the input buffer overruns "
    "(default false)",
    "replies": "KEY:VALUE, e.g. ping:pong,marco:polo: it returns a packet that begins with KEY, "
    "with VALUE in place of KEY (default: none)",
    "rssi_at_1m_dbm": "RSSI of its signal 1 m away at full power (default -40)",
    "noise_dbm": "noise at its receiver; above the threshold CA it cannot send (default -110)",
    "sensitivity_dbm": "RSSI of the weakest signal that it receives (default: by hardware)",
    "pins": "what a circuit puts on its pins, e.g. D3:high,D2:512: high, low, open, or 0 to 1023 "
    "as the converter reads it (default: all open, resistors by PR and PD decide)",
    "duty_cycle": "share of each hour in which it may send, as at 868 MHz; above it, packets fail "
    "with status 04 (default 1: no limit)",
    "XX": "any AT register by its two letters, in hexadecimal, e.g. RR=3, NI as text (default: "
    "the hardware's)",
}

_REGISTERS = {"pan_id": "ID", "api_mode": "AP", "my": "MY", "power": "PL"}
ZIGBEE_LOWEST_CHANNEL = 11


class Settings:
    """The registers, the position and the link of one module, and the values that follow.

    rssi_at_1m_dbm: at full power. noise_dbm: at its receiver. duty_cycle: share of each hour in
    which it may send. flow_control: the client obeys CTS. pins: what a circuit puts on a pin, as
    the converter reads it; a pin that is missing is open.
    """

    def __init__(self, name: str, hardware: Hardware, position: tuple[float, float, float]) -> None:
        self.hardware = hardware
        serial = 0x40000000 | zlib.crc32(name.encode()) & 0x0FFFFFFF
        self.registers = Registers(hardware.registers, {"SL": serial})
        self.registers.install("NI", name.encode("ascii", "replace")[:20])
        self.position = position
        self.sensitivity_dbm = hardware.sensitivity_dbm
        self.rssi_at_1m_dbm = -40.0
        self.noise_dbm = -110.0
        self.duty_cycle = 1.0
        self.replies: dict[bytes, bytes] = {}
        self.flow_control = False
        self.pins: dict[str, int] = {}

    def number(self, register: str) -> int:
        """Return the number in use; 0 where this hardware has no such register."""
        return self.registers.number(register)

    def count(self, register: str) -> None:
        """Add one to a counter that stops at FFFF."""
        if register in self.registers:
            self.registers.put(register, min(self.number(register) + 1, 0xFFFF))

    @property
    def address(self) -> int:
        return self.number("SH") << 32 | self.number("SL")

    @property
    def band(self) -> Hashable:
        return (self.hardware.band, self.number("CH"), self.number("HP"), self.number("BR"))

    @property
    def air_bps(self) -> int:
        return BITS_PER_S[self.number("BR")] if "BR" in self.registers else FASTEST_BPS

    @property
    def power_dbm(self) -> int:
        power = self.hardware.powers_dbm[self.number("PL")]
        return min(power, CAP_DBM) if self.number("CH") == CAPPED_CHANNEL else power

    @property
    def power_at_1m_dbm(self) -> float:
        return self.rssi_at_1m_dbm + self.power_dbm - self.hardware.powers_dbm[-1]

    @property
    def key(self) -> bytes:
        """The key that encrypts packets; empty: they are not encrypted."""
        return self.registers.text("KY") if self.number("EE") else b""

    @property
    def has_header(self) -> bool:
        """MM 1 and 2 leave out Digi's header, and everything that needs one."""
        return self.number("MM") in (0, 3)

    @property
    def shows_samples(self) -> bool:
        """IU: samples of other modules go to the client."""
        return "IU" not in self.registers or self.number("IU") == 1

    @property
    def has_short_addresses(self) -> bool:
        return self.hardware.family == MAC_FAMILY


# --- parameters -----------------------------------------------------------------------------------


def assign(settings: Settings, name: str, value: Any) -> None:
    """Set a parameter, as if saved with WR. ValueError names it and the values allowed."""
    try:
        _assign(settings, name, value)
    except BadCommand:
        known = [each for each in PARAMETERS if each != "XX"]
        advice = values.nearest(name, [*known, "an AT register's two letters"])
        raise ValueError(
            f"{name}: {settings.hardware.title} has no such parameter; {advice}"
        ) from None
    except (BadValue, ValueError, TypeError, AttributeError, OverflowError) as error:
        text = str(error)
        raise ValueError(text if text.startswith(f"{name}: ") else f"{name}: {text}") from None


def _assign(settings: Settings, name: str, value: Any) -> None:
    if name in _REGISTERS:
        _install(settings, _REGISTERS[name], integer(value))
    elif name in _SETTERS:
        _SETTERS[name](settings, value)
    elif name in _PLAIN:
        attribute, read, limits = _PLAIN[name]
        setattr(settings, attribute, read(name, value, *limits))
    else:
        _install_at(settings, name.upper(), value)


def integer(value: Any) -> int:
    """Read a whole number, in any notation Python reads."""
    if isinstance(value, str):
        return _read(value, 0, "a whole number, e.g. 12 or 0xC")
    if not isinstance(value, int | float) or not float(value).is_integer():
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _key(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (ValueError, TypeError):
        raise ValueError(f"{value!r} is not a key of hexadecimal digits") from None


def _read(text: str, base: int, expected: str) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise ValueError(f"{text!r} is not {expected}") from None


def _install(settings: Settings, name: str, value: int | bytes) -> None:
    register = settings.registers.register(name)
    if isinstance(value, int) and register.access == "r":
        if not 0 <= value < 1 << 8 * register.size:
            raise BadValue(f"{value:X} does not fit {register.size} bytes")
        settings.registers.install(name, value)
    else:
        settings.registers.install(name, register.check(value))


def _install_at(settings: Settings, name: str, value: Any) -> None:
    # AT registers are written as in command mode: hexadecimal.
    if settings.registers.register(name).kind == "text":
        _install(settings, name, str(value).encode())
    elif settings.registers.register(name).kind == "key":
        _install(settings, name, _key(value))
    elif isinstance(value, str):
        _install(settings, name, _read(value, 16, "a hexadecimal number, e.g. C"))
    else:
        _install(settings, name, integer(value))


def _set_channel(settings: Settings, value: Any) -> None:
    channel = integer(value)
    registers = settings.registers
    if "HP" in registers:
        _install(settings, "HP", channel)
    elif registers.register("CH").access == "r":
        _install(settings, "SC", 1 << max(0, channel - ZIGBEE_LOWEST_CHANNEL))
    else:
        _install(settings, "CH", channel)


def _set_address(settings: Settings, value: Any) -> None:
    wanted = "an address of 16 hexadecimal digits"
    address = _read(value, 16, wanted) if isinstance(value, str) else integer(value)
    if not 0 <= address < 1 << 64:
        raise ValueError("an address has 16 hexadecimal digits")
    settings.registers.install("SH", address >> 32)
    settings.registers.install("SL", address & 0xFFFFFFFF)


def _set_rate(settings: Settings, value: Any) -> None:
    rate = integer(value)
    _install(settings, "BD", RATES.index(rate) if rate in RATES else rate)
    settings.registers.install("BD", settings.hardware.stored_rate(settings.registers.number("BD")))


def _set_name(settings: Settings, value: Any) -> None:
    _install(settings, "NI", str(value).encode())


def _set_pins(settings: Settings, value: Any) -> None:
    for name, level in pins_of(value).items():
        if level is None:
            settings.pins.pop(name, None)
        else:
            settings.pins[name] = level


_SETTERS: dict[str, Callable[[Settings, Any], None]] = {
    "channel": _set_channel,
    "address": _set_address,
    "baudRate": _set_rate,
    "baud_rate": _set_rate,
    "ni": _set_name,
    "pins": _set_pins,
}
# Attribute of the settings, function that reads it, and its limits.
_PLAIN: dict[str, tuple[str, Callable[..., Any], tuple[float, ...]]] = {
    "position": ("position", values.position, ()),
    "sensitivity_dbm": ("sensitivity_dbm", values.number, (-200, 50)),
    "replies": ("replies", values.replies, ()),
    "rssi_at_1m_dbm": ("rssi_at_1m_dbm", values.number, (-150, 50)),
    "noise_dbm": ("noise_dbm", values.number, (-200, 50)),
    "duty_cycle": ("duty_cycle", values.number, (0, 1)),
    "rtscts": ("flow_control", values.true, ()),
}
