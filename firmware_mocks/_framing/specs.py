"""A framing by its short name (cobs-crc16, gap:20ms), or by a mapping with its settings."""

import re
from collections.abc import Mapping
from typing import Any

from firmware_mocks._framing.crc import CrcField, crc_of
from firmware_mocks._framing.framings import Cobs, Framing, Gap, Hdlc, Length, Lines, Raw, Slip

KINDS = ("cobs", "gap", "hdlc", "length", "lines", "raw", "slip")
NAMES = "cobs-crc16, cobs, slip, slip-crc16, lines, lines-crlf, hdlc, length, gap:20ms, raw"
_TERMINATORS = {"": "\n", "lf": "\n", "crlf": "\r\n", "cr": "\r"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)")
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


def framing_of(spec: str | Mapping[str, Any]) -> Framing:
    """Return the framing of a specification; ValueError names the mistake."""
    if not isinstance(spec, str | Mapping):
        raise ValueError(f"{spec!r} is unknown; one of {NAMES}")
    settings = _by_name(spec) if isinstance(spec, str) else dict(spec)
    kind = settings.get("framing")
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is unknown; one of {NAMES}")
    try:
        return _make(str(kind), settings)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"wrong settings of {kind}: {error}") from None


def name_of(spec: str | Mapping[str, Any]) -> str:
    return spec if isinstance(spec, str) else str(spec.get("framing"))


def _by_name(name: str) -> dict[str, Any]:
    head, _, argument = name.strip().lower().partition(":")
    kind, _, variant = head.partition("-")
    if kind == "gap" and not variant:
        match = _DURATION.fullmatch(argument or "20ms")
        if match is None:
            raise ValueError(f"{argument!r} is not a pause, e.g. gap:20ms")
        return {"framing": kind, "gap_ms": float(match[1]) * _MS[match[2]]}
    if argument or kind not in KINDS or (variant and kind in ("gap", "raw")):
        raise ValueError(f"{name!r} is unknown; one of {NAMES}")
    if kind == "lines":
        if variant not in _TERMINATORS:
            raise ValueError(f"{name!r} is unknown; one of lines, lines-crlf, lines-cr")
        return {"framing": kind, "terminator": _TERMINATORS[variant]}
    return {"framing": kind, "crc": variant} if variant else {"framing": kind}


def _make(kind: str, settings: Mapping[str, Any]) -> Framing:
    limit = int(settings.get("max_payload", 4096))
    default = {"hdlc": "x-25", "length": "crc16"}.get(kind, "none")
    name = str(settings.get("crc", default))
    if kind == "hdlc":
        name = "x-25" if name == "crc16" else name
        return Hdlc(CrcField(crc_of(name), "little"), limit, int(settings.get("control_map", 0)))
    crc = CrcField(crc_of(name), str(settings.get("crc_order", "big")))
    if kind == "cobs":
        return Cobs(crc, limit, bool(settings.get("leading_delimiter", False)))
    if kind == "slip":
        return Slip(crc, limit, bool(settings.get("leading_end", True)))
    if kind == "length":
        return _length(crc, limit, settings)
    if kind == "lines":
        return Lines(CrcField(), limit, (settings.get("terminator") or "\n").encode("latin-1"))
    if kind == "gap":
        return Gap(CrcField(), limit, round(float(settings.get("gap_ms", 20.0)) * 1_000_000))
    return Raw(CrcField(), limit)


def _length(crc: CrcField, limit: int, settings: Mapping[str, Any]) -> Length:
    return Length(
        crc,
        limit,
        sync=bytes.fromhex(settings.get("sync", "AA 55")),
        width=int(settings.get("length_bytes", 2)),
        length_order=str(settings.get("length_order", "big")),
        counts=str(settings.get("length_counts", "payload")),
        crc_from_sync=settings.get("crc_from", "length") == "sync",
        timeout_ns=round(float(settings.get("timeout_ms", 100.0)) * 1_000_000),
    )
