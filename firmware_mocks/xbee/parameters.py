"""Parameters in human terms, and AT registers by name, for the file and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firmware_mocks.xbee.registers import BadCommand, BadValue, Register

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

PARAMETERS: dict[str, str] = {
    "hardware": "kind of module: s1, s1pro, xbee3, digimesh, zigbee, 900hp (default xbee3)",
    "position": "x, y, z in metres",
    "channel": "radio channel, CH (12 is 0C)",
    "pan_id": "network, ID",
    "api_mode": "0 transparent, 1 frames, 2 escaped frames (AP; default 1)",
    "my": "16-bit address, MY (default FFFF: the 64-bit address is used)",
    "ni": "node identifier, NI (default: the mock's name)",
    "address": "64-bit address, SH and SL, 16 hexadecimal digits",
    "power": "power level, PL, 0 to 4",
    "baudRate": "UART rate, BD, bit/s",
    "replies": "answers given without a client: a payload beginning with KEY is sent back with "
    "VALUE in its place, as {ping: pong} or ping:pong",
    "rssi_at_1m_dbm": "how loud this module is heard at 1 m at full power (default -40)",
    "noise_dbm": "noise this module hears; above its CA threshold it cannot send (default -110)",
    "sensitivity_dbm": "weaker signals are not heard",
}

_REGISTERS = {"channel": "CH", "pan_id": "ID", "api_mode": "AP", "my": "MY", "power": "PL"}


def assign(module: Module, name: str, value: Any) -> None:
    """Give a module a parameter, as if saved with WR. ValueError says what is allowed."""
    try:
        _assign(module, name, value)
    except BadCommand:
        raise ValueError(
            f"{name}: {module.hardware.title} has no such parameter; "
            f"one of {', '.join(PARAMETERS)}, or an AT command's two letters"
        ) from None
    except (BadValue, ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


def _assign(module: Module, name: str, value: Any) -> None:
    if name in _REGISTERS:
        _install(module, _REGISTERS[name], _integer(value))
    elif name == "ni":
        _install(module, "NI", str(value).encode())
    elif name == "address":
        address = int(value, 16) if isinstance(value, str) else int(value)
        module.registers.install("SH", address >> 32)
        module.registers.install("SL", address & 0xFFFFFFFF)
    elif name in ("baudRate", "baud_rate"):
        _install_rate(module, _integer(value))
    elif name == "replies":
        module.replies = _replies(value)
    elif name == "position":
        module.radio.position = point(value)
    elif name == "sensitivity_dbm":
        module.radio.sensitivity_dbm = float(value)
    elif name in ("rssi_at_1m_dbm", "noise_dbm"):
        setattr(module, name, float(value))
    else:
        _install_at(module, name.upper(), value)


def _integer(value: Any) -> int:
    return int(value, 0) if isinstance(value, str) else int(value)


def point(value: Any) -> tuple[float, float, float]:
    """x, y, z from a list or from text."""
    parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
    x, y, z = (float(part) for part in parts)
    return (x, y, z)


def _replies(value: Any) -> dict[bytes, bytes]:
    if isinstance(value, str):
        pairs = (pair.partition(":") for pair in value.strip("{} ").split(","))
        value = {key.strip(" \"'"): answer.strip(" \"'") for key, _, answer in pairs}
    return {str(key).encode(): str(answer).encode() for key, answer in value.items()}


def _install_rate(module: Module, rate: int) -> None:
    from firmware_mocks.xbee.hardware import RATES

    _install(module, "BD", RATES.index(rate) if rate in RATES else rate)


def _install_at(module: Module, name: str, value: Any) -> None:
    register = module.registers.register(name)
    if register.kind == "text":
        _install(module, name, str(value).encode())
    else:
        _install(module, name, int(value, 16) if isinstance(value, str) else int(value))


def _install(module: Module, name: str, value: int | bytes) -> None:
    register: Register = module.registers.register(name)
    if isinstance(value, bytes):
        module.registers.install(name, register.check(value))
    elif register.access == "r":
        module.registers.install(name, value)
    else:
        module.registers.install(name, register.check_number(value))
