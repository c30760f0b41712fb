"""Framings by name: packets on a byte stream. docs/framing.md describes each of them."""

from typing import TYPE_CHECKING, Any

from hilgw import plugins
from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.framing.base import Framing, FramingClass

# Common short names, for help texts and suggestions; any CRC name may follow a dash.
SHORT_NAMES = (
    "cobs-crc16",
    "cobs-crc32",
    "cobs",
    "slip",
    "slip-crc16",
    "slip-crc32",
    "lines",
    "lines-crlf",
    "lines-cr",
    "hdlc",
    "hdlc-crc32",
    "length",
    "length-crc32",
    "gap:20ms",
)


def create(spec: Any) -> "Framing":
    """Create a framing from a short name ("cobs-crc16", "gap:20ms") or a framing's settings.

    Raises:
        ConfigError: the name is unknown, or settings contradict each other.
    """
    settings = parse(spec) if isinstance(spec, str) else spec
    kind = getattr(settings, "framing", None)
    if kind not in plugins.names(plugins.FRAMINGS):
        raise ConfigError(f"{spec!r} is neither the name nor the settings of a framing")
    return _framing_class(kind)(settings)


def parse(name: str) -> Any:
    """Return the settings of a short name: KIND[-variant][:argument]."""
    head, _, argument = name.strip().lower().partition(":")
    kind, _, variant = head.partition("-")
    if kind not in plugins.names(plugins.FRAMINGS):
        import difflib  # slow to import, and needed for errors only

        close = difflib.get_close_matches(name.strip().lower(), SHORT_NAMES, n=1)
        fix = f"did you mean '{close[0]}'?" if close else f"use one of {', '.join(SHORT_NAMES)}"
        raise ConfigError(f"unknown framing '{name}'", fix=fix)
    return _framing_class(kind).parse(variant, argument)


def _framing_class(kind: str) -> "FramingClass":
    framing: FramingClass = plugins.load(plugins.FRAMINGS, kind)
    return framing
