"""Whether the peer of a loopback connection has closed its end, before that arrives (Linux).

The end of a stream comes after its bytes, so it stays hidden until they are read. The kernel
has both ends of a loopback connection, and sock_diag(7) reports the state of the other one.
"""

from __future__ import annotations

import socket
import struct

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY: type of the request and of its answer
_REQUEST = 1  # NLM_F_REQUEST
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_ALL_STATES = 0xFFF
# States of an end that sends no more: FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSE, LAST_ACK, CLOSING.
_ENDED = frozenset({4, 5, 6, 7, 9, 11})


def peer_has_ended(connection: socket.socket) -> bool:
    """False also where the state is not available: another system, another host, another
    namespace."""
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return False
    try:
        request = _request(connection)
        with socket.socket(family, socket.SOCK_RAW, _SOCK_DIAG) as netlink:
            netlink.setblocking(False)
            netlink.send(request)
            answer = netlink.recv(4096)
    except OSError:
        return False
    kind = _HEADER.unpack_from(answer)[1] if len(answer) > _HEADER.size + 1 else 0
    return kind == _BY_FAMILY and answer[_HEADER.size + 1] in _ENDED


def _request(connection: socket.socket) -> bytes:
    """inet_diag_req_v2 for the peer's socket: its address is the source."""
    here, there = connection.getsockname(), connection.getpeername()
    addresses = [
        socket.inet_pton(connection.family, host.partition("%")[0]).ljust(16, b"\0")
        for host in (there[0], here[0])
    ]
    ports = struct.pack(">HH", there[1], here[1])
    anywhere = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface, no cookie
    body = struct.pack("=BBBBI", connection.family, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
    body += ports + b"".join(addresses) + anywhere
    return _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body
