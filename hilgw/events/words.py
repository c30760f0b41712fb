"""The words of events: one sentence each, without the time and the name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hilgw.events import numbers
from hilgw.events.numbers import APPLIED, Event, Number

NAMES_SHOWN = 8
SHOWN_BYTES = 64
MISSED_SHOWN = 3  # for each reason
EVERY = -1  # channel
FRAME_BYTES = 48  # shown of a frame
TO, FROM = ("sent", "delivered", "lost", "unsettled"), ("received", "missed", "late")


def in_words(reason: str) -> str:
    """Return a machine word, such as other_module, as text."""
    return reason.replace("_", " ")


def reason_counts(counts: Mapping[str, int]) -> str:
    """List reasons with their counts, such as "2 buffer full, 1 range"."""
    return ", ".join(f"{count} {in_words(reason)}" for reason, count in counts.items())


def joined(words: Iterable[str | None], by: str = "; ") -> str:
    """Join the words that are not empty."""
    return by.join(filter(None, words))


def escape(data: bytes, limit: int = SHOWN_BYTES) -> str:
    """Return bytes as a quoted string without control characters, cut at `limit` bytes."""
    text = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in data[:limit]
    )
    return f'"{text}"' + ("..." if len(data) > limit else "")


def listing(names: Sequence[str], shown: int = NAMES_SHOWN) -> str:
    """List at most `shown` names, and the number of the others."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def of_motors(robot: Mapping[str, Any]) -> str:
    """Return the word for whether the motors of a robot may move."""
    stopped = "latched" if robot.get("latched") else "disarmed"
    return "armed" if robot.get("armed", True) else stopped


_SPANS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """Return a time in at most six characters, such as 2.5 s or 12 min."""
    size, unit = next((each for each in _SPANS if seconds >= each[0]), (1, "s"))
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds / size:.0f} {unit}"


def amounts(values: Sequence[Number], digits: int = 6) -> str:
    """Return numbers with their names, and a unit once for those that share it: "x 1 y 0 z 0 m/s".

    A number that is alone has no name.
    """
    words: list[str] = []
    for one, following in zip(values, [*values[1:], Number("", 0.0)], strict=True):
        words += [one.field] * (len(values) > 1) + [f"{one.value:.{digits}g}"]
        words += [one.unit] * (one.unit not in ("", following.unit))
    return " ".join(words)


def setting(one: Number) -> str:
    """Return a setting of a motor with its unit."""
    return f"{one.field} {one.value:g} {one.unit}".rstrip()


def of_data(data: bytes) -> str:
    """Return the text and the length of the bytes of a packet."""
    return f"{escape(data)} {len(data)} B"


def of_command(event: Event) -> str:
    """Return the command, and the applied settings if they differ."""
    settings = numbers.of_command(event)
    given = {one.field: one for one in settings if one.role != APPLIED}
    differs = [
        f", applied {setting(one)}"
        for one in settings
        if one.role == APPLIED and one.field in given and one.value != given[one.field].value
    ]
    reason = f": {in_words(event['reason'])}" if event["reason"] else ""
    words = ", ".join(map(setting, given.values()))
    return f"{words} {event['outcome']}{reason}{''.join(differs)}"


def of_packet(event: Event) -> str:
    """Return a packet, its receivers, and why the others did not receive it."""
    sent = sent_on(event["channel"], bytes.fromhex(event["data"]), event["rssi_dbm"])
    lost, to = event["not_received"], listing(event["received_by"])
    target = f"  not received: {in_words(lost)}" if lost else f"  -> {to}"
    missed = f"; not {by_reason(event['missed'])}" if event["missed"] else ""
    return f"{sent}{target}{missed}"


def sent_on(channel: int, data: bytes, rssi_dbm: float | None, about: str = "") -> str:
    """Return a packet on its channel; `about` is "~" if the signal strength is uncertain."""
    strength = "" if rssi_dbm is None else f"  {about}{rssi_dbm:.0f} dBm"
    return f"ch {'all' if channel == EVERY else channel:<3} {of_data(data)}{strength}"


def by_reason(
    missed: Mapping[str, str],
    shown: int = MISSED_SHOWN,
    how: Callable[[Sequence[str]], str] = lambda reasons: in_words(reasons[0]),
) -> str:
    """List the listeners that missed a packet by reason: "a.rx (obstacle); b.rx, c.rx (range)".

    At most `shown` names of each reason are listed; `how` returns one reason in words, for all that
    are equal to it.
    """
    reasons: dict[str, dict[str, str]] = {}
    for name, reason in missed.items():
        reasons.setdefault(reason, {})[name] = reason
    return "; ".join(
        f"{listing(list(names), shown)} ({how(list(names.values()))})" for names in reasons.values()
    )


def frame_line(direction: str, data: bytes, text: str, shown: int = FRAME_BYTES) -> str:
    """Return a frame for people: an arrow, -> to the hardware, then its bytes and their meaning.

    At most `shown` bytes are there.
    """
    more = f" ... {len(data)} B" if len(data) > shown else ""
    line = f"{'->' if direction == 'sent' else '<-'} {data[:shown].hex(' ')}{more}"
    return f"{line}  | {text}" if text else line


def of_line(event: Event) -> str:
    """Return a frame as its bytes and their meaning, or all bytes of one read or write."""
    data = bytes.fromhex(event["data"])
    if event["event"] == "bytes":
        return frame_line(event["direction"], data, "", len(data))
    return frame_line(event["direction"], data, event["text"])


def of_port(event: Event) -> str:
    """Return a state with its reason."""
    words = filter(None, (event["state"], event["reason"]))
    return (" " if event["state"] == "released" else ": ").join(words)


def of_pose(event: Event) -> str:
    if event["position"] is None:
        return "its position is unknown"
    return f"at {amounts(numbers.of_pose(event))}"


def of_link(event: Event) -> str:
    """Return the state of another gateway, its latencies, counts, robots and listeners."""
    listeners = [f"{name} ({kind})" for name, kind in event["listeners"].items()]
    return joined(
        [
            of_port(event),
            way(*(event[key] for key in ("p50_ms", "p99_ms", "round_trip_ms", "clock_offset_s"))),
            counted(event["counts"], TO),
            counted(event["counts"], (*FROM, "dropped")),
            f"robots {listing(event['robots'])}" if event["robots"] else "",
            f"listeners {listing(listeners)}" if listeners else "",
        ]
    )


def way(p50_ms: Any, p99_ms: Any, round_trip_ms: Any, clock_offset_s: Any) -> str:
    """Return latency and clock of a link; "" if nothing of it is known.

    The offset is shown in the unit that it has digits in.
    """
    words = []
    if p50_ms is not None:
        words.append(f"one way p50 {p50_ms:.3g} ms, p99 {p99_ms:.3g} ms")
    if round_trip_ms is not None:
        words.append(f"round trip {round_trip_ms:.3g} ms")
    if clock_offset_s is not None:
        small = abs(clock_offset_s) < 1
        shown = f"{clock_offset_s * 1e3:+.3f} ms" if small else f"{clock_offset_s:+.3f} s"
        words.append(f"clock offset {shown}")
    return ", ".join(words)


def counted(counts: Mapping[str, Any], keys: Iterable[str]) -> str:
    return ", ".join(f"{key} {counts[key]}" for key in keys)


def of_left_out(event: Event) -> str:
    """Return the number of missing events of each kind."""
    counts = [f"{count} of {kind}" for kind, count in event["sampled"].items()]
    counts += [f"{event['slow']} as this reads too slowly"] if event["slow"] else []
    return f"... left out: {', '.join(counts)}"
