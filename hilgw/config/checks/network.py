"""Checks of the federation and of access from other hosts: who can reach what."""

import ipaddress
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path as FilePath

from hilgw.config.context import Inspection
from hilgw.config.model import AccessConfig, FederationConfig
from hilgw.config.queries import REAL_TIME, is_local
from hilgw.config.source.text import Path
from hilgw.errors import quoted
from hilgw.transports.private_files import (
    KEY_READABLE,
    TOKEN_READABLE,
    is_key_exposed,
    is_token_exposed,
    make_private,
    mode_of,
)

_TOKEN = "?token=" + 32 * "x"  # as `hilgw token` makes it, behind the name of the robot


def check_files(inspection: Inspection) -> None:
    """Report token files and private keys that other users can read.

    A file that does not exist is reported at the start: it may be made until then.
    """
    folder = FilePath(inspection.document.file).parent
    for section, access in inspection.made("access"):
        for name, token in access.tokens.items():
            place = folder / token.file
            is_bad = inspection.document.is_bad((*section, "tokens", name, "file"))
            mode = None if is_bad else mode_of(place)
            if mode is not None and is_token_exposed(mode):
                inspection.error(
                    (*section, "tokens", name, "file"), TOKEN_READABLE, make_private(place)
                )
        if access.tls is not None:
            key = "certificate" if access.tls.key is None else "key"
            place = folder / (access.tls.key or access.tls.certificate)
            mode = None if inspection.document.is_bad((*section, "tls", key)) else mode_of(place)
            if mode is not None and is_key_exposed(mode):
                inspection.error((*section, "tls", key), KEY_READABLE, make_private(place))


def check_metrics(inspection: Inspection) -> None:
    """Check the address of the metrics against `access`: any token may read them."""
    for path, metrics in inspection.made("metrics"):
        check_listener(inspection, (*path, "listen"), metrics.listen)


def check_listener(inspection: Inspection, path: Path, url: str, robot: str = "") -> None:
    """Add an error for an address on which `access` does not allow to listen.

    Warn about a robot's name that leaves no room for a token.

    Args:
        inspection: The file.
        path: Where the errors are reported.
        url: The address.
        robot: The robot that the clients command; "" if they only read.
    """
    if inspection.document.is_bad(("access",)) or inspection.has_errors_below(("access",)):
        return
    made = [config for _, config in inspection.made("access")]
    access = made[0] if made else AccessConfig()
    try:
        if is_local(url):
            return
    except ValueError as error:
        if not robot:  # else reported with the address
            inspection.error(path, str(error), "e.g. 127.0.0.1:9464 or [::1]:9464")
        return
    for problem, fix in _problems(access, reads=not robot):
        inspection.error(path, problem, fix)
    if access.tokens and robot:
        _check_room(inspection, path[:2], robot)


def _check_room(inspection: Inspection, path: Path, robot: str) -> None:
    """Check that libController can encode the robot's name with the token: it hashes long ones."""
    from hilgw.protocols.webots.handshake import LONGEST_NAME, encode_name

    whole, token = encode_name(robot + _TOKEN), encode_name(_TOKEN)
    if not whole.endswith(token):
        problem = f"no token fits behind this name: of more than {LONGEST_NAME} characters, a "
        problem += "controller sends a hash"
        inspection.warn(
            path, problem, f"use at most {LONGEST_NAME - len(token)} letters and digits"
        )


def _problems(access: AccessConfig, *, reads: bool) -> Iterator[tuple[str, str]]:
    may = [name for name, token in access.tokens.items() if reads or token.role != "monitor"]
    certified = access.tls is not None and access.tls.clients is not None and not access.tokens
    if not may and not certified:
        yield (
            "other hosts reach this address"
            if reads
            else "other hosts reach this address, and could move the motors",
            "listen on 127.0.0.1, or write `access:` with a token (`hilgw token FILE` makes one)",
        )
    elif access.tls is None and not access.plaintext:
        yield (
            "other hosts reach this address without TLS",
            "write access: {tls: ...}, or plaintext: true for a network that you trust",
        )


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
