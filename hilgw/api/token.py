"""The token for a gateway on another machine: which one is sent, and where it never is."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from ipaddress import ip_address

from hilgw.api.address import TcpAddress
from hilgw.errors import PeerError
from hilgw.protocols.webots.address import TOKEN
from hilgw.protocols.webots.handshake import Forbidden

FIXES = {
    Forbidden.NO_TOKEN: f"set {TOKEN} for an address tls://, or write ?token=TOKEN behind the "
    "robot in WEBOTS_CONTROLLER_URL for a gateway with plaintext: true",
    Forbidden.WRONG_TOKEN: "use a token of `access: tokens:` of that gateway",
    Forbidden.MONITOR_TOKEN: "use a token with role: drive or admin of that gateway",
    Forbidden.TOO_MANY_TRIES: "try again after a second, with the right token",
}


def token_of(address: TcpAddress, environment: Mapping[str, str]) -> str | None:
    """The token in the URL, or that of the environment."""
    return address.token or environment.get(TOKEN) or None


def hosts_of(address: TcpAddress, environment: Mapping[str, str]) -> list[str]:
    """Where to connect. The token of the environment leaves this machine inside TLS only: without
    it, these are the addresses that the host has now. PeerError: one of them is not of this
    machine. OSError: the host has none."""
    if address.tls or address.token or token_of(address, environment) is None:
        return [address.host]
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    hosts = list(dict.fromkeys(str(each[0]) for *_, each in found))
    if all(_is_loopback(host) for host in hosts):
        return hosts
    raise PeerError(
        f"{TOKEN} would leave this machine in clear text: the address is tcp://",
        where=f"{address.host}:{address.port}",
        fix="write tls:// into WEBOTS_CONTROLLER_URL; for a gateway with plaintext: true, write "
        f"?token=TOKEN behind the robot there; for any other simulator, unset {TOKEN}",
    )


def _is_loopback(host: str) -> bool:
    found = ip_address(host.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
