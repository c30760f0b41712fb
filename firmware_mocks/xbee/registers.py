"""AT registers: ranges, and the three copies of a value (set, in use, saved)."""

from collections.abc import Mapping
from dataclasses import dataclass


class BadCommand(Exception):
    """The module has no such command."""


class BadValue(Exception):
    """The value is not allowed; the text lists the values that are."""


@dataclass(frozen=True, slots=True)
class Register:
    """An AT parameter: a number of `size` bytes, or (kind "text", "key") up to `size` bytes.

    also: ranges of numbers allowed besides low..high. access: "rw", "r", or "w" for write-only.
    volatile: WR, RE and AC do not touch it; a restart brings the default back.
    """

    default: int | bytes
    low: int = 0
    high: int = 0
    size: int = 1
    kind: str = "number"
    also: tuple[tuple[int, int], ...] = ()
    access: str = "rw"
    volatile: bool = False

    def parse(self, value: bytes) -> int | bytes:
        """Return a value from a command, as stored; raise BadValue when it is not allowed."""
        if self.access == "r":
            raise BadValue("this register is read-only")
        return self.check(value if self.kind != "number" else int.from_bytes(value, "big"))

    def check(self, value: int | bytes) -> int | bytes:
        if isinstance(value, int):
            return self._check_number(value)
        if self.kind == "text":
            return self._check_text(value)
        if len(value) > self.size:
            raise BadValue(f"a key has up to {self.size} bytes")
        return value.rjust(self.size, b"\0")

    def _check_text(self, value: bytes) -> bytes:
        printable = all(0x20 <= byte < 0x7F for byte in value)
        if len(value) > self.size or not printable or value[:1] == b" ":
            raise BadValue(f"up to {self.size} printable characters, the first not a space")
        return value

    def _check_number(self, number: int) -> int:
        ranges = ((self.low, self.high), *self.also)
        if not any(low <= number <= high for low, high in ranges):
            words = " or ".join(
                f"{low} to {high} (hex {low:X} to {high:X})" for low, high in ranges
            )
            raise BadValue(f"{number} is not allowed; {words}")
        return number

    def encode(self, value: int | bytes) -> bytes:
        """Return the value as an API response carries it."""
        if self.access == "w":
            return b""
        return value if isinstance(value, bytes) else value.to_bytes(self.size, "big")


class Registers:
    """The registers of one module.

    A new value is held until `apply`; a restart brings back the values of the last `save`. Reads
    return the value set last.
    """

    def __init__(self, table: Mapping[str, Register], factory: Mapping[str, int | bytes]) -> None:
        self.table = table
        self._factory = {name: register.default for name, register in table.items()}
        self._factory.update(factory)
        self._set = dict(self._factory)
        self._used = dict(self._factory)
        self._saved = dict(self._factory)

    def register(self, name: str) -> Register:
        try:
            return self.table[name]
        except KeyError:
            raise BadCommand(f"no command {name}") from None

    def hold(self, name: str, value: int | bytes) -> None:
        """Set a checked value, to be used after `apply`."""
        self._set[name] = value
        if self.table[name].volatile:
            self._used[name] = value

    def put(self, name: str, value: int | bytes) -> None:
        """Set a value that the module sets itself: without checks, in use at once."""
        self._set[name] = self._used[name] = value

    def install(self, name: str, value: int | bytes) -> None:
        """Write a value as if it had been set, applied and saved."""
        self.put(name, value)
        self._saved[name] = value

    def held(self, name: str) -> int | bytes:
        """Return the value set last; raise BadCommand."""
        self.register(name)
        return self._set[name]

    def __contains__(self, name: str) -> bool:
        return name in self.table

    def number(self, name: str) -> int:
        """Return the number in use; 0 where this hardware has no such register."""
        value = self._used.get(name, 0)
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> bytes:
        """Return the bytes in use; empty where this hardware has no such register."""
        value = self._used.get(name, b"")
        assert isinstance(value, bytes)
        return value

    def apply(self) -> frozenset[str]:
        """Use the values set; returns the names that changed."""
        changed = frozenset(name for name, value in self._set.items() if self._used[name] != value)
        self._used.update(self._set)
        return changed

    def save(self) -> None:
        """Keep the values set through a restart (WR)."""
        self._saved.update(self._set)

    def restore(self) -> None:
        """Set the factory values (RE); read-only and volatile ones stay."""
        for name, register in self.table.items():
            if register.access != "r" and not register.volatile:
                self._set[name] = self._factory[name]

    def restart(self) -> None:
        """Use the saved values; volatile registers begin with their defaults."""
        for name, register in self.table.items():
            self.put(name, self._factory[name] if register.volatile else self._saved[name])
