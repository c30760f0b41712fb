"""Parameters in human terms, and AT registers by name, for the file and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from firmware_mocks._radio_parameters import number, place
from firmware_mocks.xbee.hardware import KINDS, RATES
from firmware_mocks.xbee.registers import BadCommand, BadValue

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

PARAMETERS: dict[str, str] = {
    "hardware": f"kind of module: {', '.join(KINDS)} (default xbee3)",
    "position": "x, y, z in metres",
    "channel": "radio channel, CH (12 is hex 0C); Zigbee: the one it may use; 900HP: hopping HP",
    "pan_id": "network, ID",
    "api_mode": "0 transparent, 1 frames, 2 escaped frames (AP; default 1)",
    "my": "16-bit address, MY (default 0xFFFF: the 64-bit address is used)",
    "ni": "node identifier, NI (default: the mock's name)",
    "address": "64-bit address, SH and SL, 16 hexadecimal digits",
    "power": "power level, PL, 0 to 4",
    "baudRate": "UART rate, BD, bit/s",
    "rtscts": "true: the client obeys CTS and is held back before the input buffer overruns",
    "replies": "answers given by itself: a payload that begins with KEY comes back with VALUE in "
    "its place, as ping:pong,marco:polo",
    "rssi_at_1m_dbm": "how loud this module is heard at 1 m at full power (default -40)",
    "noise_dbm": "noise this module hears; above its threshold CA it cannot send (default -110)",
    "sensitivity_dbm": "weaker signals are not heard (default: the hardware's)",
    "duty_cycle": "share of each hour in which it may send, as at 868 MHz; beyond it refuses with "
    "status 04 (default 1: no limit)",
    "XX": "any AT register by its two letters, in hexadecimal, e.g. RR=3 (NI as text)",
}

_REGISTERS = {"pan_id": "ID", "api_mode": "AP", "my": "MY", "power": "PL"}
ZIGBEE_LOWEST_CHANNEL = 11


def assign(module: Module, name: str, value: Any) -> None:
    """Give a module a parameter, as if saved with WR. ValueError says what is allowed."""
    try:
        _assign(module, name, value)
    except BadCommand:
        known = ", ".join(key for key in PARAMETERS if key != "XX")
        raise ValueError(
            f"{name}: {module.hardware.title} has no such parameter; "
            f"{known}, or an AT register's two letters"
        ) from None
    except (BadValue, ValueError, TypeError, AttributeError, OverflowError) as error:
        text = str(error)
        raise ValueError(text if text.startswith(f"{name}: ") else f"{name}: {text}") from None


def _assign(module: Module, name: str, value: Any) -> None:
    if name in _REGISTERS:
        _install(module, _REGISTERS[name], integer(value))
    elif name in _SETTERS:
        _SETTERS[name](module, value)
    else:
        _install_at(module, name.upper(), value)


def integer(value: Any) -> int:
    """A whole number, in any notation Python reads."""
    if isinstance(value, str):
        return _read(value, 0, "whole number, as 12 or 0xC")
    if not isinstance(value, int | float) or not float(value).is_integer():
        raise ValueError(f"{value!r} is not whole")
    return int(value)


def _key(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (ValueError, TypeError):
        raise ValueError(f"{value!r} is no key of hexadecimal digits") from None


def _read(text: str, base: int, what: str) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise ValueError(f"{text!r} is no {what}") from None


def replies(value: Any) -> dict[bytes, bytes]:
    """What is answered to what, from a mapping, JSON, or ping:pong,marco:polo."""
    if isinstance(value, str):
        text = value.strip()
        value = json.loads(text) if text.startswith("{") else _pairs(text)
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r}; write KEY:VALUE, e.g. ping:pong")
    return {str(key).encode(): str(answer).encode() for key, answer in value.items()}


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition(":") for pair in text.split(",")]
    if not all(key and colon for key, colon, _ in pairs):
        raise ValueError("write KEY:VALUE, e.g. ping:pong")
    return {key.strip(): answer.strip() for key, _, answer in pairs}


def _install(module: Module, name: str, value: int | bytes) -> None:
    register = module.registers.register(name)
    if isinstance(value, int) and register.access == "r":
        if not 0 <= value < 1 << 8 * register.size:
            raise BadValue(f"{value:X} does not fit {register.size} bytes")
        module.registers.install(name, value)
    else:
        module.registers.install(name, register.check(value))


def _install_at(module: Module, name: str, value: Any) -> None:
    """AT registers are written as in command mode: hexadecimal."""
    if module.registers.register(name).kind == "text":
        _install(module, name, str(value).encode())
    elif module.registers.register(name).kind == "key":
        _install(module, name, _key(value))
    elif isinstance(value, str):
        _install(module, name, _read(value, 16, "hexadecimal number, as C"))
    else:
        _install(module, name, integer(value))


def _set_channel(module: Module, value: Any) -> None:
    channel = integer(value)
    registers = module.registers
    if "HP" in registers:
        _install(module, "HP", channel)
    elif registers.register("CH").access == "r":
        _install(module, "SC", 1 << max(0, channel - ZIGBEE_LOWEST_CHANNEL))
    else:
        _install(module, "CH", channel)


def _set_address(module: Module, value: Any) -> None:
    wanted = "address of 16 hexadecimal digits"
    address = _read(value, 16, wanted) if isinstance(value, str) else integer(value)
    if not 0 <= address < 1 << 64:
        raise ValueError("an address has 16 hexadecimal digits")
    module.registers.install("SH", address >> 32)
    module.registers.install("SL", address & 0xFFFFFFFF)


def _set_rate(module: Module, value: Any) -> None:
    rate = integer(value)
    _install(module, "BD", RATES.index(rate) if rate in RATES else rate)
    module.registers.install("BD", module.hardware.stored_rate(module.registers.number("BD")))


def _set_position(module: Module, value: Any) -> None:
    module.radio.position = place("position", value)


def _set_sensitivity(module: Module, value: Any) -> None:
    module.radio.sensitivity_dbm = number("sensitivity_dbm", value, -200, 50)


def _set_name(module: Module, value: Any) -> None:
    _install(module, "NI", str(value).encode())


def _set_replies(module: Module, value: Any) -> None:
    module.replies = replies(value)


def _set_strength(module: Module, value: Any) -> None:
    module.rssi_at_1m_dbm = number("rssi_at_1m_dbm", value, -150, 50)


def _set_noise(module: Module, value: Any) -> None:
    module.noise_dbm = number("noise_dbm", value, -200, 50)


def _set_duty_cycle(module: Module, value: Any) -> None:
    module.radio.duty.share = number("duty_cycle", value, 0, 1)


def _set_flow_control(module: Module, value: Any) -> None:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    module.flow_control = text == "true"


_SETTERS: dict[str, Callable[[Module, Any], None]] = {
    "channel": _set_channel,
    "address": _set_address,
    "baudRate": _set_rate,
    "baud_rate": _set_rate,
    "position": _set_position,
    "sensitivity_dbm": _set_sensitivity,
    "ni": _set_name,
    "replies": _set_replies,
    "rssi_at_1m_dbm": _set_strength,
    "noise_dbm": _set_noise,
    "duty_cycle": _set_duty_cycle,
    "rtscts": _set_flow_control,
}
