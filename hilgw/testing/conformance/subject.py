"""The declarations of an adapter's test, and the reports of the rules that it breaks.

A report has the rule, the actual and the expected result, the bytes, and the attribute of the test
that relaxes it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from hilgw.adapters.base import Adapter, MockSpec, StationSettings
from hilgw.engine.mock_host import Mock, create_mock

__tracebackhide__ = True  # a failure is shown at the rule, not in here

PORT = "/dev/null"  # of sessions that are never opened
ALL_VALUES = bytes(range(256))
PIECE = 64  # bytes of a packet where any length would do
SERIAL = "serial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A packet and its bytes on the line, from the data sheet or a capture.

    sends: the bytes to the hardware for this packet, when it is the first one after the handshake.
    receives: the bytes from the hardware when this packet is received. wire: both. channel None:
    the channel of the station. rssi_dbm, address: of the received packet; None: not checked.
    """

    data: bytes
    channel: int | None = None
    wire: bytes | None = None
    sends: bytes | None = None
    receives: bytes | None = None
    rssi_dbm: float | None = None
    address: str | None = None

    @property
    def outward(self) -> bytes | None:
        return self.wire if self.sends is None else self.sends

    @property
    def inward(self) -> bytes | None:
        return self.wire if self.receives is None else self.receives


class Subject:
    """The declarations of a test, with defaults.

    adapter: the ADAPTER of a kind. settings: its Settings, or keywords for them. common: keywords
    of StationSettings. mock: parameters that override those from the adapter.
    """

    adapter: ClassVar[Adapter]
    settings: ClassVar[Any] = {}
    common: ClassVar[Mapping[str, Any]] = {}
    mock: ClassVar[Mapping[str, Any]] = {}
    vectors: ClassVar[Sequence[Vector]] = ()

    # The settings of the second station, which receives from the first; `far` like `settings`,
    # None: the same. A serial line has no second station: its mock must echo all packets.
    far: ClassVar[Any] = None
    far_mock: ClassVar[Mapping[str, Any]] = {}
    echoes: ClassVar[bool | None] = None  # None: true for a serial line

    # The longest packet with these settings (None: limits.payload), the possible lengths (None:
    # 1 to the longest), the possible byte values. See also `fits`.
    largest: ClassVar[int | None] = None
    sizes: ClassVar[Collection[int] | None] = None
    values: ClassVar[Collection[int]] = ALL_VALUES

    # Checksum bits of a frame; below 8, noise may look like a packet. How many valid frames noise
    # may destroy that ends right before them. Silence that a frame needs after it. Whether a frame
    # with one byte changed may be valid, as with the times of infra-red light.
    check_bits: ClassVar[int] = 16
    noise_costs: ClassVar[int] = 0
    pause_s: ClassVar[float] = 0.0
    tolerant: ClassVar[bool] = False

    # Packets at once that the hardware transmits without losing one.
    burst: ClassVar[int] = 8

    # Time limits, in simulated and in real seconds.
    ready_s: ClassVar[float] = 60.0
    arrival_s: ClassVar[float] = 60.0
    live_s: ClassVar[float] = 20.0
    channels: ClassVar[Sequence[int]] = ()  # checked in addition to those of the vectors
    examples: ClassVar[int] = 20

    def fits(self, data: bytes) -> bool:
        """Return whether the hardware can carry this packet; the adapter must refuse any other."""
        sizes = self.sizes
        fits = 1 <= len(data) <= self._largest() if sizes is None else len(data) in sizes
        return fits and all(value in self.values for value in data)

    def make_mock(self, spec: MockSpec, name: str, air: Any, position: Any) -> Mock:
        """Return the mock of the hardware; found by its name."""
        return create_mock(spec.name, name, air, spec.parameters, position)

    # --- derived values ---------------------------------------------------------------------------

    def _largest(self) -> int:
        if self.sizes is not None:
            return max(self.sizes)
        largest = self.adapter.limits.payload if self.largest is None else self.largest
        require(
            largest >= 1,
            "the adapter describes itself",
            f"the longest packet has {largest} bytes",
            "limits.payload, or largest of the test: at least 1",
        )
        return largest

    def adapter_settings(self, far: bool = False) -> Any:
        """Return the adapter's own settings, of the station under test or of the far one."""
        given = self.far if far and self.far is not None else self.settings
        return self.adapter.Settings(**given) if isinstance(given, Mapping) else given

    def station_settings(self, **fields: Any) -> StationSettings:
        """Return the settings that all stations have, with these fields changed."""
        return StationSettings(**{"port": PORT, **self.common, **fields})

    def mock_spec(self, common: StationSettings, far: bool = False) -> MockSpec:
        """Return the mock of the hardware of such a station."""
        spec = self.adapter.mock(self.adapter_settings(far), common)
        more = {**self.mock, **(self.far_mock if far else {})}
        return MockSpec(spec.name, {**spec.parameters, **more})

    def _echoes(self) -> bool:
        return self.adapter.type == SERIAL if self.echoes is None else self.echoes

    def _incoming(self) -> list[tuple[bytes, Vector]]:
        return self._with_bytes([(each.inward, each) for each in self.vectors], "receives")

    def _outgoing(self) -> list[tuple[bytes, Vector]]:
        return self._with_bytes([(each.outward, each) for each in self.vectors], "sends")

    def _with_bytes(
        self, pairs: list[tuple[bytes | None, Vector]], field: str
    ) -> list[tuple[bytes, Vector]]:
        given = [(wire, vector) for wire, vector in pairs if wire is not None]
        require(
            given,
            "vectors",
            f"no vector of {type(self).__name__} has {field} or wire",
            f"Vector(data=b'...', {field}=bytes.fromhex('...')) with the bytes of a packet from "
            "the data sheet, or from a capture of the real hardware",
        )
        return given

    def _channel(self, vector: Vector) -> int:
        return self.station_settings().channel if vector.channel is None else vector.channel

    def _payload(self, size: int, first: int = 0) -> bytes:
        """Return a packet of this length with allowed values; distinct for each `first`."""
        values = sorted(self.values)
        data = bytearray(values[(first + at) % len(values)] for at in range(size))
        if size > 1:
            data[1] = values[(first // len(values) + 1) % len(values)]
        return bytes(data)

    def _usual_size(self) -> int:
        if self.sizes is None:
            return min(PIECE, self._largest())
        return min((size for size in self.sizes if size >= 2), default=self._largest())

    def _numbered(self, count: int) -> Iterator[bytes]:
        size, made, first = self._usual_size(), 0, 0
        while made < count and first < 256 * 256:
            data = self._payload(size, first)
            first += 1
            if self.fits(data):
                made += 1
                yield data
        expected = "sizes, values or fits() of the test that allow at least one packet"
        require(made or not count, "packets that fit", f"no packet of {size} B fits", expected)


LONGEST = 400  # characters of one value in a message


_PAUSE = "pause_s, where a frame ends only with a silence"
_CARRIED = "values, sizes, largest or fits(), where the hardware cannot carry this packet"
_SLOW = "live_s (real seconds), where the hardware is slower"

# By the beginning of the rule's name. A rule that is missing here holds for any hardware.
_RELAXED_BY = {
    "vectors are received": _PAUSE,
    "any chunking gives": _PAUSE,
    "garbage costs no": "noise_costs, where noise may destroy the frames behind it; check_bits, "
    "where noise may look like a packet; tolerant, where a changed byte may be valid; " + _PAUSE,
    "a truncated frame": "noise_costs, where it may destroy the frame behind it; check_bits below "
    "8, where nothing shows that it is incomplete; " + _PAUSE,
    "all byte values": _CARRIED,
    "payload sizes": _CARRIED,
    "packets that fit": _CARRIED,
    "packets keep their order": "burst, where the hardware takes fewer packets at once; "
    "arrival_s, where they take longer",
    "slow line": "arrival_s, where packets take longer; " + _CARRIED,
    "handshake": "ready_s (simulated seconds) or " + _SLOW,
    "round trip on a": _SLOW + "; check_bits below 16, where noise may look like a packet; "
    "echoes, where the mock of a serial line has a second station instead",
    "mapping of": "channels and the settings of the test; arrival_s, where packets take longer",
}


class BrokenRule(AssertionError):
    """An adapter breaks a rule. rule: its name."""

    def __init__(self, rule: str, got: str, expected: str, more: Iterable[str] = ()) -> None:
        lines = [f"rule {rule}", f"  got:      {got}", f"  expected: {expected}"]
        lines += [f"  {line}" for line in more]
        relaxed = (text for name, text in _RELAXED_BY.items() if rule.startswith(name))
        lines += [f"  relax by: {text}" for text in relaxed]
        super().__init__("\n".join(lines))
        self.rule = rule
        self.got = got
        self.expected = expected


def broken(rule: str, got: str, expected: str, *more: str) -> NoReturn:
    """Fail the test; `more` are lines that help to locate the fault."""
    __tracebackhide__ = True
    raise BrokenRule(rule, got, expected, more)


def require(holds: object, rule: str, got: Any, expected: str, *more: str) -> None:
    """Fail the test unless the rule holds."""
    __tracebackhide__ = True
    if not holds:
        broken(rule, got if isinstance(got, str) else shown(got), expected, *more)


def shown(value: Any) -> str:
    """Return a value in one line of limited length; bytes in hex."""
    if isinstance(value, bytes | bytearray):
        text = f"{len(value)} B {bytes(value[:64]).hex(' ')}{' ...' if len(value) > 64 else ''}"
    elif isinstance(value, list | tuple):
        text = ", ".join(shown(item) for item in value) or "nothing"
        text = f"({text})" if isinstance(value, tuple) else text
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def bytes_line(data: bytes) -> str:
    """Return the line of a report with the bytes, for copying."""
    text = bytes(data[:LONGEST]).hex(" ") or "(none)"
    return f"bytes:    {text}{f' ... {len(data)} B' if len(data) > LONGEST else ''}"


def location_of(error: BaseException) -> str:
    """Return the line of a report with the source line of an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "at:       unknown"
    code = trace.tb_frame.f_code
    return f"at:       {code.co_filename}:{trace.tb_lineno} in {code.co_name}"
