"""The reason why TLS refuses a connection to another gateway; Zenoh does not report it."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.config.model import FederationConfig

ENCRYPTED = "tls/", "quic/"
_CERTIFICATE = "certificate", "private_key"
CONNECT_S = 2.0
ALERT_S = 0.5  # longest wait for the alert with which TLS 1.3 refuses a client after the handshake


def refusal(config: FederationConfig) -> str:
    """Return why TLS refuses a connection between this gateway and others.

    An end that connects finds the cause; one that listens finds the faults of its own certificate,
    and says which names others must use. Empty: this end listens to none, and finds no fault. It
    blocks: not for the event loop.
    """
    # The certificate of this end is also that of the try: with `enable_mtls` it needs one.
    own = {f"connect_{key}": config.tls.get(f"listen_{key}") for key in _CERTIFICATE}
    own |= {"verify_name_on_connect": False}
    names = ""
    for endpoint in (*config.connect, *config.endpoints):
        is_own = endpoint in config.endpoints
        why, names = _try(endpoint, config.tls | own if is_own else config.tls)
        if why:
            return f"TLS with {endpoint}{', of this gateway,' if is_own else ''} fails: {why}"
    if not any(each.startswith(ENCRYPTED) for each in config.endpoints):
        return ""
    return (
        "no other gateway is there, or TLS refuses it: its own status has the cause; its `connect` "
        f"needs a name that the certificate of this gateway has ({names})"
    )


def _try(endpoint: str, given: dict[str, Any]) -> tuple[str, str]:
    """Return why TLS fails there, and the names of the certificate of the end that listens."""
    protocol, _, place = endpoint.partition("#")[0].partition("?")[0].partition("/")
    host, _, port = place.rpartition(":")
    name = host.strip("[]")
    if protocol != "tls":
        return "", "unknown"
    try:
        context = ssl.create_default_context(cafile=given.get("root_ca_certificate"))
        context.check_hostname = given.get("verify_name_on_connect") is not False
        if (own := given.get("connect_certificate")) is not None:
            context.load_cert_chain(own, given.get("connect_private_key"))
        with (
            socket.create_connection((name, int(port)), CONNECT_S) as connection,
            context.wrap_socket(connection, server_hostname=name) as secured,
        ):
            certificate: dict[str, Any] = secured.getpeercert() or {}
            secured.settimeout(ALERT_S)
            with suppress(TimeoutError, ssl.SSLEOFError):
                secured.recv(1)
            return "", ", ".join(each[1] for each in certificate.get("subjectAltName", ()))
    except ssl.SSLError as error:
        alert = (error.reason or "").partition("ALERT_")[2].lower().replace("_", " ")
        why = f"it refuses the certificate of this gateway: {alert}" if alert else ""
        return why or getattr(error, "verify_message", "") or error.reason or str(error), ""
    except OSError as error:
        return "" if isinstance(error, ConnectionError) else error.strerror or str(error), ""
