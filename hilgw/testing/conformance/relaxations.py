"""What a test declares about its hardware, where that hardware cannot keep a rule."""

from __future__ import annotations

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
    "handshake": "ready_s (simulated seconds) or " + _SLOW,
    "round trip on a": _SLOW + "; check_bits below 16, where noise may look like a packet; "
    "echoes, where the mock of a serial line has a second station instead",
    "mapping of": "channels and the settings of the test; arrival_s, where packets take longer",
}


def relaxed_by(rule: str) -> str:
    """The attributes of a test that relax this rule; "" when none does."""
    return next((text for name, text in _RELAXED_BY.items() if rule.startswith(name)), "")
