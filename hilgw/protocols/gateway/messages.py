"""The form of the messages of a control socket: one JSON object per line.

A request and its answer are dataclasses (`hilgw.protocols.gateway.requests`): their fields are the
keys, and the types of their fields define the values. A field at its default may be left out. Both
have the key `version`. An answer has `ok` if the gateway did what was asked, `refused` with the
reason if it did not, or `error` with a text, and with `config` the gateway's file.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from hilgw.errors import PeerError

VERSION = 2
"""The version of the requests, the answers and the events. 1 had no number."""

LINE_BYTES = 256 * 1024
"""The longest line of a request."""
ANSWER_BYTES = 16 * 1024 * 1024
"""The longest answer that a client accepts: the status of a hundred robots is longer than a line of
a request."""

RENEW_S = 0.1
"""Time after which a holder renews its lease."""
LEASE_S = 0.3
"""A lease that was not renewed for this long has expired."""


class VersionError(PeerError):
    """The two ends use different versions. client, gateway: None if there is no number."""

    def __init__(self, client: int | None, gateway: int | None) -> None:
        def words(version: int | None) -> str:
            return "no version" if version is None else f"version {version}"

        super().__init__(
            f"the gateway speaks {words(gateway)} of the control socket, the client "
            f"{words(client)}",
            fix="use the hilgw that the gateway runs with",
        )
        self.client = client


def version_of(message: Mapping[str, Any]) -> int | None:
    """Return the version of a message; None if it has none."""
    version = message.get("version")
    return version if type(version) is int else None


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the line of a message."""
    return json.dumps(message).encode() + b"\n"


def keys_of(message: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as in JSON, without those at their defaults."""
    given = {}
    for declared in fields(message):
        value = getattr(message, declared.name)
        default = (
            declared.default if declared.default_factory is MISSING else declared.default_factory()
        )
        if value != default:
            given[declared.name] = value.hex() if isinstance(value, bytes) else value
    return given
