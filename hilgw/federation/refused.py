"""The reason why TLS refuses a connection to another gateway; Zenoh does not report it."""

import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.config.model import FederationConfig

TLS = "tls/"  # begins an endpoint
WAIT_S = 1.0  # also for the alert with which TLS 1.3 refuses a client after the handshake


def refusal(config: "FederationConfig") -> str:
    """Return why TLS refuses a connection between this gateway and others.

    An end that connects finds the cause; one that listens finds the faults of its own certificate,
    and lists the names that others must use. Empty: this end has neither. It blocks: not for the
    event loop.
    """
    given = config.tls
    own = given | {  # with `enable_mtls` the try of the own endpoint needs a certificate, too
        "connect_certificate": given.get("listen_certificate"),
        "connect_private_key": given.get("listen_private_key"),
        "verify_name_on_connect": False,
    }
    for endpoint in config.connect:
        if endpoint.startswith(TLS) and (why := _try(endpoint, given)[0]):
            return f"TLS with {endpoint} fails: {why}"
    for endpoint in config.endpoints:
        if endpoint.startswith(TLS):
            why, names = _try(endpoint, own)
            return (
                f"TLS with {endpoint}, of this gateway, fails: {why}"
                if why
                else "no other gateway is there, or TLS refuses it: its own status has the cause; "
                f"its `connect` needs a name that the certificate of this gateway has ({names})"
            )
    return ""


def _try(endpoint: str, given: dict[str, Any]) -> tuple[str, str]:
    place = endpoint.partition("#")[0].partition("?")[0].removeprefix(TLS)
    host, _, port = place.replace("[", "").replace("]", "").rpartition(":")
    try:
        context = ssl.create_default_context(cafile=given.get("root_ca_certificate"))
        context.check_hostname = given.get("verify_name_on_connect") is not False
        if (certificate := given.get("connect_certificate")) is not None:
            context.load_cert_chain(certificate, given.get("connect_private_key"))
        with (
            socket.create_connection((host, int(port)), WAIT_S) as connection,
            context.wrap_socket(connection, server_hostname=host) as secured,
        ):
            with suppress(TimeoutError, ssl.SSLEOFError):
                secured.recv(1)
            names: Any = (secured.getpeercert() or {}).get("subjectAltName", ())
            return "", ", ".join(name for _, name in names)
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or str(error)
        _, is_alert, alert = why.partition("ALERT_")
        return f"it refuses the certificate of this gateway: {alert}" if is_alert else why, ""
    except OSError as error:
        return "" if isinstance(error, ConnectionError) else error.strerror or str(error), ""
