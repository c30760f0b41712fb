"""The allowed names of ports. pyserial has more URL schemes; some of them write files."""

from urllib.parse import urlsplit

from hilgw.errors import PortError

NETWORK = ("socket", "rfc2217")  # schemes that need permission
# The server does not answer SET-CONTROL: as in a URL of pyserial.
IGN_SET_CONTROL = "?ign_set_control"


def kind_of(port: str, allow_urls: bool) -> str:
    """Return device, loop, socket or rfc2217; raises PortError (unsupported) for other names."""
    scheme, separator, _ = port.partition("://")
    if not separator:
        return "device"
    if port == "loop://":
        return "loop"
    if scheme not in NETWORK:
        fix = "use a device path, loop://, socket://HOST:PORT or rfc2217://HOST:PORT"
        raise unsupported("unknown type of port", port, fix)
    if not allow_urls:
        fix = "use a device path, or set network_ports: true in the configuration"
        raise unsupported(f"{scheme}:// is not allowed here", port, fix)
    host_and_port(port)
    return scheme


def host_and_port(url: str) -> tuple[str, int]:
    """Return host and port of a URL without anything else; rfc2217:// may have IGN_SET_CONTROL."""
    if url.startswith("rfc2217:"):
        url = url.removesuffix(IGN_SET_CONTROL)
    try:
        parts = urlsplit(url)
        host, number = parts.hostname, parts.port
        plain = url.partition("://")[2] == parts.netloc and "@" not in url
    except ValueError:
        host, number, plain = None, None, False
    if not host or number is None or not plain:
        raise unsupported(
            "not of the form SCHEME://HOST:PORT", url, "write host and port, 1 to 65535, only"
        )
    return host, number


def unsupported(problem: str, port: str, fix: str) -> PortError:
    return PortError(problem, reason=PortError.UNSUPPORTED, where=port, fix=fix)
