"""CRCs of overlapping parts of a stream, each in a time that does not grow with the part.

A CRC register is linear in the value it starts from. So the CRC of the bytes a to b follows from
the registers behind a and behind b of one run over the whole stream: the register behind a, moved
through b - a zero bytes, leaves the register behind b. Moving it takes one matrix for each digit
of b - a, or a single one for a distance that comes again and again, as in a stream of sync bytes.
The matrices come from the CRC function itself and fit every polynomial and bit order.
"""

from functools import lru_cache

from hilgw.framing.crc import Crc

BLOCK = 64  # bytes from one register kept to the next
# A distance repeated this many times gets a matrix of its own, which costs as much as this.
REPEATED = 32

# One matrix over GF(2): for each byte of a register, lowest first, what its 256 values become.
Matrix = list[list[int]]


class RunningCrc:
    """CRCs of parts of one stream, whose older bytes leave at the front in whole blocks.

    The caller owns the bytes and passes them to each call; they change at their two ends only.
    `prepare` once for each CRC takes milliseconds, which `part` then does not.
    """

    def __init__(self, crc: Crc) -> None:
        self._start = crc.start
        self._update = crc.update
        self._zeros = _zeros(crc)
        self._first = 0  # the block that _registers begins with
        self._registers: list[int] = []  # at the start of each block, from an arbitrary value
        self._distance = self._times = 0  # of the last parts in a row
        self._move: Matrix | None = None  # over that distance

    @staticmethod
    def prepare(crc: Crc, longest: int) -> None:
        """Make the matrices for parts of up to `longest` bytes."""
        _zeros(crc).prepare(longest)

    def part(self, stream: bytearray, start: int, end: int) -> int:
        """Return the CRC of stream[start:end]. Starts must not decrease from call to call."""
        moved = self._behind(stream, start) ^ self._start
        register = self._behind(stream, end)
        distance = end - start
        if distance != self._distance:
            self._distance, self._times, self._move = distance, 0, None
        if self._move is not None:
            return register ^ _apply(self._move, moved)
        self._times += 1
        if self._times == REPEATED:
            self._move = self._zeros.over(distance)
        return register ^ self._zeros.append(moved, distance)

    def forget(self, blocks: int) -> None:
        """Drop this many blocks at the front of the stream."""
        self._first -= blocks
        if self._first < 0:
            del self._registers[: -self._first]
            self._first = 0

    def _behind(self, stream: bytearray, position: int) -> int:
        registers = self._registers
        block = position // BLOCK
        if not registers:
            self._first = block
            registers.append(0)
        if len(registers) <= block - self._first:
            new = bytes(stream[(self._first + len(registers) - 1) * BLOCK : block * BLOCK])
            for start in range(0, len(new), BLOCK):
                registers.append(self._update(new[start : start + BLOCK], registers[-1]))
        return self._update(stream[block * BLOCK : position], registers[block - self._first])


class _Zeros:
    """Effect of zero bytes on a register. The matrices are made as they are needed, and kept."""

    def __init__(self, crc: Crc) -> None:
        self._bits = range(crc.size * 8)
        origin = crc.update(b"\0", 0)
        one = _matrix([crc.update(b"\0", 1 << n) ^ origin for n in self._bits])
        self._matrices: dict[int, Matrix] = {1: one}

    def prepare(self, longest: int) -> None:
        unit = 1
        while unit <= longest:
            for digit in range(1, min(15, longest // unit) + 1):
                self._matrix(digit, unit)
            unit <<= 4

    def append(self, register: int, count: int) -> int:
        """Return the register after `count` zero bytes, by a matrix for each hexadecimal digit."""
        unit = 1
        while count:
            if digit := count & 15:
                register = _apply(self._matrix(digit, unit), register)
            count >>= 4
            unit <<= 4
        return register

    def over(self, count: int) -> Matrix:
        """Return the matrix of this many zero bytes, without keeping it."""
        return _matrix([self.append(1 << n, count) for n in self._bits])

    def _matrix(self, digit: int, unit: int) -> Matrix:
        """Return the matrix of digit * unit zero bytes; unit is a power of 16."""
        known = self._matrices.get(digit * unit)
        if known is not None:
            return known
        if digit == 1:
            before, last = self._matrix(15, unit >> 4), self._matrix(1, unit >> 4)
        else:
            before, last = self._matrix(digit - 1, unit), self._matrix(1, unit)
        made = _matrix([_apply(last, _apply(before, 1 << n)) for n in self._bits])
        self._matrices[digit * unit] = made
        return made


@lru_cache(maxsize=16)
def _zeros(crc: Crc) -> _Zeros:
    return _Zeros(crc)


def _matrix(columns: list[int]) -> Matrix:
    """Return the matrix with these columns: the result of each single bit."""
    tables = []
    for start in range(0, len(columns), 8):
        table = [0]
        for column in columns[start : start + 8]:
            table += [column ^ value for value in table]
        tables.append(table)
    return tables


def _apply(matrix: Matrix, value: int) -> int:
    result = 0
    for table in matrix:
        result ^= table[value & 0xFF]
        value >>= 8
    return result
