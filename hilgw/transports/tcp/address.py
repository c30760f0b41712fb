"""Addresses of TCP peers as text."""

import ipaddress


def format_address(host: str, port: int) -> str:
    """Return HOST:PORT, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of [tcp://]HOST:PORT, an IPv6 address in brackets.

    Raises:
        ValueError: the text is not such an address.
    """
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare and bare == host) or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return bare, int(port)
