"""Checks of the federation: which hosts can reach it, and the settings that it excludes."""

import ipaddress
from importlib.util import find_spec

from hilgw.config.context import Inspection
from hilgw.config.model import FederationConfig
from hilgw.config.queries import REAL_TIME
from hilgw.config.source.positions import Path
from hilgw.errors import quoted

ENCRYPTED = ("tls", "quic")
PROTOCOLS = ("tcp", "udp", "ws", *ENCRYPTED)
LOCAL = ("unixsock-stream", "unixpipe", "serial", "vsock")  # they do not leave the machine
_CERTIFICATE = ("listen_certificate", "listen_private_key")


def check_federation(inspection: Inspection) -> None:
    """Report endpoints that Zenoh does not support, or that other hosts reach without TLS.

    Report settings that make a federation impossible, too.
    """
    for section, config in inspection.made("federation"):
        if find_spec("zenoh") is None:
            inspection.error(section, "needs Eclipse Zenoh", "pip install 'hilgw[zenoh]'")
        _check_speed(inspection, section)
        _check_ends(inspection, section, config)
        for key in ("listen", "connect"):
            for index, endpoint in enumerate(getattr(config, key) or ()):
                _check_endpoint(inspection, (*section, key, index), endpoint, config)


def _check_speed(inspection: Inspection, path: Path) -> None:
    speed = inspection.get("speed")
    if speed not in (None, REAL_TIME):
        inspection.error(
            ("speed",),
            "the other gateways run in real time, and share the packets of each instant",
            "leave speed out, or federation",
        )


def _check_ends(inspection: Inspection, path: Path, config: FederationConfig) -> None:
    if config.mode == "client":
        if config.listen:
            inspection.error(
                (*path, "listen"),
                "a client of Zenoh does not listen",
                "delete it, or write mode: peer",
            )
        if not config.connect:
            inspection.error(
                (*path, "mode"),
                "a client of Zenoh needs a router or a peer",
                'write connect: ["tcp/127.0.0.1:7447"]',
            )
    elif not config.endpoints and not config.connect:
        inspection.error(
            (*path, "listen"),
            "no other gateway can reach this one",
            'write listen: ["tcp/127.0.0.1:7447"], or connect',
        )
    for key in ("listen", "connect"):
        own = config.zenoh.get(key)
        if isinstance(own, dict) and "endpoints" in own:
            inspection.error(
                (*path, "zenoh", key, "endpoints"),
                f"the endpoints are those of federation.{key}",
                f"move them to {key}",
            )


def _check_endpoint(
    inspection: Inspection, path: Path, endpoint: str, config: FederationConfig
) -> None:
    protocol, _, rest = endpoint.partition("/")
    if protocol in LOCAL and rest:
        return
    host, _, port = rest.partition("#")[0].partition("?")[0].rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if protocol not in PROTOCOLS or not host or not port.isdecimal() or int(port) > 65535:
        known = "" if protocol in PROTOCOLS else f": Zenoh has no protocol {quoted(protocol)}"
        inspection.error(
            path,
            f"{quoted(endpoint)} is not an endpoint{known}",
            'write PROTOCOL/HOST:PORT, e.g. "tcp/127.0.0.1:7447" or "tls/simulator.lab:7447"',
        )
    elif protocol in ENCRYPTED:
        if path[1] == "listen":
            _check_certificate(inspection, path, config)
    elif not _is_loopback(host) and not config.plaintext:
        inspection.error(
            path,
            "other hosts reach this endpoint without TLS: who is on the way reads and sends "
            "packets",
            "use tls/HOST:PORT, or write plaintext: true for a network that you trust",
        )


def _check_certificate(inspection: Inspection, path: Path, config: FederationConfig) -> None:
    given = config.tls
    missing = [key for key in _CERTIFICATE if not any(each.startswith(key) for each in given)]
    if missing:
        problem = f"TLS needs {' and '.join(missing)} of Zenoh"
        wanted = ", ".join(f"{key}: FILE.pem" for key in missing)
        inspection.error(
            path, problem, f"write zenoh: {{transport: {{link: {{tls: {{{wanted}}}}}}}}}"
        )
    elif not given.get("enable_mtls") and "access_control" not in config.zenoh:
        inspection.warn(
            path,
            "any host that trusts this certificate can send packets",
            "write enable_mtls: true, or access_control, in zenoh",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
