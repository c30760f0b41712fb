"""The settings of the module: names, ranges, and the error code of a bad value."""

import re

PARAMETERS: dict[str, str] = {
    "ADDRESS": "address, 0 to 65535 (default 0)",
    "NETWORKID": "3 to 15, or 18 (default 18)",
    "BAND": "centre frequency, 820000000 to 960000000 Hz (default 915000000)",
    "PARAMETER": "spreading factor, bandwidth code, coding rate, preamble (default 9,7,1,12)",
    "CRFOP": "transmit power, 0 to 22 dBm (default 22)",
    "IPR": "UART rate, bit/s: 300 1200 4800 9600 19200 28800 38400 57600 115200 (default 115200)",
    "MODE": "0: transceiver; 1: asleep; 2,rx_ms,sleep_ms: in turns (default 0)",
    "CPIN": "password of 8 hex digits; packets with another one are dropped (default: none)",
    "UID": "unique id, 24 hex digits (default: from its name)",
    "VER": "firmware version (default RYLR998_REYAX_V1.2.2)",
    "replies": "KEY:VALUE, e.g. ping:pong,marco:polo: it returns a packet that begins with KEY, "
    "with VALUE in place of KEY (default: none)",
    "damaged_ms": "time between two damaged packets from the air, which it reports unasked with "
    "+ERR=12, +ERR=19 and +ERR=11 in turns; 0: none (default 0)",
    "rssi_at_1m_dbm": "RSSI of its signal 1 m away at full power (default -40)",
    "position": "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)",
}

NETWORK_ERROR, PREAMBLE_ERROR, SLEEP_ERROR, OTHER_ERROR = 15, 18, 20, 15
RATES = (300, 1200, 4800, 9600, 19200, 28800, 38400, 57600, 115200)
FACTORY: dict[str, str] = {
    "ADDRESS": "0",
    "NETWORKID": "18",
    "BAND": "915000000",
    "PARAMETER": "9,7,1,12",
    "CRFOP": "22",
    "IPR": "115200",
    "MODE": "0",
    "CPIN": "",
}
FULL_POWER_DBM = 22
_LARGEST_SF = {7: 9, 8: 10, 9: 11}
_SLEEP_MS = range(30, 60_001)


class Refusal(Exception):
    """The module answers a command with +ERR and this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def check(name: str, value: str, network: str) -> str:
    """Return the value as it is stored; raise Refusal."""
    numbers = [int(part) for part in value.split(",") if re.fullmatch(r"[0-9]{1,9}", part)]
    whole = len(numbers) == len(value.split(","))
    one = numbers[0] if whole and len(numbers) == 1 else -1
    good = {
        "ADDRESS": 0 <= one <= 65_535,
        "NETWORKID": one == 18 or 3 <= one <= 15,
        "CRFOP": 0 <= one <= FULL_POWER_DBM,
        "IPR": one in RATES,
        "BAND": _band(value),
        "CPIN": re.fullmatch(r"[0-9A-Fa-f]{8}", value) is not None and value != "00000000",
        "MODE": value in ("0", "1") or (len(numbers) == 3 and whole and numbers[0] == 2),
        "PARAMETER": len(numbers) == 4 and whole,
    }[name]
    if not good:
        raise Refusal(OTHER_ERROR)
    if name == "PARAMETER":
        _check_parameter(numbers, network)
    if name == "MODE" and len(numbers) == 3 and not all(ms in _SLEEP_MS for ms in numbers[1:]):
        raise Refusal(SLEEP_ERROR)
    return str(one) if one >= 0 else value


def _band(value: str) -> bool:
    number = value.removesuffix(",M")
    return re.fullmatch(r"[0-9]{9}", number) is not None and 820e6 <= int(number) <= 960e6


def _check_parameter(numbers: list[int], network: str) -> None:
    sf, bandwidth, coding, preamble = numbers
    if not (5 <= sf <= _LARGEST_SF.get(bandwidth, 0) and 1 <= coding <= 4 and 4 <= preamble <= 24):
        raise Refusal(OTHER_ERROR)
    if preamble != 12 and network != "18":
        raise Refusal(PREAMBLE_ERROR)
