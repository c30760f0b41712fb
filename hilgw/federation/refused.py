"""The reason why TLS refuses a connection to another gateway; Zenoh does not report it."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.config.model import FederationConfig

CONNECT_S = 2.0
VERSION_3 = bytes.fromhex("a003020102")  # how a certificate of version 3 begins


def refusal(config: FederationConfig) -> str:
    """Return why the first endpoint of `connect` with TLS refuses this gateway, or this gateway it.

    Empty: none does, as far as Python's TLS shows. It blocks: not for the event loop.
    """
    for endpoint in config.connect:
        protocol, _, place = endpoint.partition("#")[0].partition("?")[0].partition("/")
        host, _, port = place.rpartition(":")
        if protocol == "tls" and (why := _try(host.strip("[]"), int(port), config.tls)):
            return f"TLS with {endpoint} fails: {why}"
    return ""


def _try(name: str, port: int, given: dict[str, Any]) -> str:
    try:
        context = ssl.create_default_context(cafile=given.get("root_ca_certificate"))
        if (own := given.get("connect_certificate")) is not None:
            context.load_cert_chain(own, given.get("connect_private_key"))
        with (
            socket.create_connection((name, port), CONNECT_S) as connection,
            context.wrap_socket(connection, server_hostname=name) as secured,
        ):
            begin = (secured.getpeercert(binary_form=True) or b"")[:16]
            return "" if VERSION_3 in begin else "its certificate is of version 1"
    except ssl.SSLError as error:
        return getattr(error, "verify_message", "") or error.reason or str(error)
    except OSError as error:
        return "" if isinstance(error, ConnectionError) else error.strerror or str(error)
