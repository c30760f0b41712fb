"""The trust center's link keys: modules that may join with a key of their own (frame 24)."""

from enum import IntEnum

from firmware_mocks.base import MS
from firmware_mocks.xbee.network.packets import COORDINATOR64, UNKNOWN64

SECOND = 1_000 * MS
KEY_BYTES = 16
LARGEST_TABLE = 10  # [M]
LINK_KEY = 0  # kind of key; 1 is an install code


class Registration(IntEnum):
    """Status of a joining device's registration (frame A4)."""

    SUCCESS = 0x00
    KEY_TOO_LONG = 0x01
    TABLE_FULL = 0x18
    KEY_NOT_FOUND = 0xB1
    INVALID_KEY = 0xB2
    INVALID_ADDRESS = 0xB3
    INVALID_INSTALL_CODE = 0xBD


class LinkKeys:
    """Link keys by the 64-bit address of the module that joins with them, until they expire."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[bytes, int]] = {}

    def clear(self) -> None:
        self._keys.clear()

    def key(self, address: int, now: int) -> bytes:
        key, expires = self._keys.get(address, (b"", 0))
        return key if now < expires else b""

    def register(
        self, address: int, kind: int, key: bytes, timeout_s: int, now: int
    ) -> Registration:
        """Register a key; an empty key removes it. Install codes are not modelled."""
        if kind != LINK_KEY:
            return Registration.INVALID_INSTALL_CODE
        if len(key) > KEY_BYTES:
            return Registration.KEY_TOO_LONG
        if address in (COORDINATOR64, UNKNOWN64):
            return Registration.INVALID_ADDRESS
        if not key:
            removed = self._keys.pop(address, None)
            return Registration.SUCCESS if removed else Registration.KEY_NOT_FOUND
        if set(key) in ({0x00}, {0xFF}):
            return Registration.INVALID_KEY
        self._keys = {known: entry for known, entry in self._keys.items() if now < entry[1]}
        if address not in self._keys and len(self._keys) >= LARGEST_TABLE:
            return Registration.TABLE_FULL
        self._keys[address] = key.rjust(KEY_BYTES, b"\0"), now + timeout_s * SECOND
        return Registration.SUCCESS
