"""The handshake on TCP: the controller sends a hello, Webots an acknowledgement.

They are the port, the local sockets of a robot, and the variables in the environment of a
controller.

Source: Webots user guide, "Running Extern Robot Controllers"; libController R2025a.

Neither has an end or a length. libController reads the acknowledgement by one read of 10 bytes:
write it at once, and nothing after it until the first request has arrived. Nothing follows the
hello either: a name that arrives in parts has no visible end, so the glue reads until it matches a
robot, or until no more bytes come.
"""

import hashlib
import re
import shlex
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from hilgw.errors import printable
from hilgw.protocols.webots.wire import ProtocolError, encode_text

DEFAULT_PORT = 1234
INSTANCES = Path("/tmp/webots")
EXTERN = "extern"
NO_USER = "default"
URL = "WEBOTS_CONTROLLER_URL"
TOKEN = "HILGW_TOKEN"
MODULE_FOLDER = Path(__file__).parents[2] / "api" / "path"
"""Contains hilgw's module `controller`, for PYTHONPATH."""

_LIST_SEPARATOR = ";" if sys.platform == "win32" else ":"


def instances_of(environment: Mapping[str, str]) -> Path:
    """Return the folder of the simulators that one user runs; each simulator has a folder in it.

    The user is that of the environment, as in libController; a service or a container without one
    has the folder `default`.
    """
    return INSTANCES / (environment.get("USER") or environment.get("USERNAME") or NO_USER)


def socket_path(instance: Path, robot: str, end: str) -> Path:
    """Return the local socket of a robot.

    `end` is EXTERN, or "intern" for a controller that the simulator starts itself.
    """
    around = len(bytes(instance / "ipc" / end)) + 1
    return instance / "ipc" / encode_name(robot, around) / end


def program_environment(
    url: str | None,
    inherited: Mapping[str, str],
    token: str | None = None,
) -> dict[str, str]:
    """Return the environment of a program that connects to this address.

    Its module `controller` is that of hilgw.

    Args:
        url: The address; None: the simulator on this machine, as without hilgw.
        inherited: The environment of this process.
        token: For a gateway that asks for one; None: that of the inherited environment.
    """
    environment = dict(inherited)
    if url is not None:
        given = inherited.get(TOKEN) if token is None else token
        # These name a simulator that started this program, or its library.
        for name in ("WEBOTS_INSTANCE_PATH", "WEBOTS_ROBOT_NAME", URL, TOKEN):
            environment.pop(name, None)
        environment[URL] = url
        if given:
            environment[TOKEN] = given
    parts = (str(MODULE_FOLDER), inherited.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = _LIST_SEPARATOR.join(part for part in parts if part)
    return environment


GREETING = b"CTR"
LONGEST_NAME = 90
"""Characters of an encoded name on TCP; a longer one is replaced by its SHA-1."""
LONGEST_PLAIN_NAME = 1000
"""Bytes of a name that is not encoded."""

_NAME_HEAD = GREETING + b"\nRobot-Name: "
_KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~.")
_ENCODED = re.compile(rb"[A-Za-z0-9_~.%-]*")
_NAME_LIMIT = 91
_SHORTEST_HASH = 4


class Acknowledgement(StrEnum):
    """The answer to the controller's hello."""

    CONNECTED = "CONNECTED"
    FAILED = "FAILED"
    """no such robot; the controller tries again every second, 50 times"""
    PROCESSING = "PROCESSING"
    """the world is not ready; the controller tries again every second, for ever"""
    FORBIDDEN = "FORBIDDEN"
    """the robot is taken, or this peer is not allowed; the controller ends"""


LONGEST_REASON = 90


class Forbidden(StrEnum):
    """Reasons why a gateway forbids its robots to a controller, besides that another one has it.

    It follows FORBIDDEN a little later: libController has ended by then, hilgw's API reads it.
    """

    NO_TOKEN = "no_token"
    WRONG_TOKEN = "wrong_token"
    MONITOR_TOKEN = "monitor_token"
    TOO_MANY_TRIES = "too_many_tries"
    MOCK = "mock"

    @property
    def text(self) -> str:
        """A sentence for people."""
        return _SENTENCES[self]


_SENTENCES = {
    Forbidden.NO_TOKEN: "the controller may not connect: it sent no token",
    Forbidden.WRONG_TOKEN: "the controller may not connect: its token is wrong",
    Forbidden.MONITOR_TOKEN: "the controller may not connect: its token is for monitors, which may "
    "not command a robot",
    Forbidden.TOO_MANY_TRIES: "the controller may not connect: three wrong tokens came from its "
    "address within 1 s",
    Forbidden.MOCK: "a mock controller has the robot",
}


def without_mock(robot: str) -> str:
    """Return what makes a controller of one's own possible where a mock has the robot.

    It does so with every back end of this part and others.
    """
    name = f'"{robot}"' if set("[=") & set(robot) else robot
    return f"start the gateway with --set {shlex.quote(f'robots.{name}.controller.backend=real')}"


def encode_name(name: str, used: int = 0) -> str:
    """Return a robot's name as on the wire and in the path of a local socket.

    It is percent-encoded, and its SHA-1 in hex when that is too long.

    Args:
        name: The name of the robot.
        used: Characters of the path around the name, which leave less room for it; 0 on TCP.

    Raises:
        ProtocolError: The name has a NUL.
    """
    data = encode_text(name)[:-1]
    encoded = "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in data)
    longest = max(_NAME_LIMIT - used, _SHORTEST_HASH) // 2 * 2
    if len(encoded) <= longest:
        return encoded
    return hashlib.sha1(encoded.encode(), usedforsecurity=False).hexdigest()[:longest]


def encode_hello(name: str | None = None) -> bytes:
    """Return the hello for the robot of this name; None: the only robot."""
    return GREETING if name is None else _NAME_HEAD + encode_name(name).encode()


def decode_hello(data: bytes) -> str | None:
    """Return the robot name in a hello, as `encode_name` writes it.

    It is "" when the hello has none; None when that is not complete. R2023a sends the name as it
    is.

    Raises:
        ProtocolError: This is not a hello.
    """
    if data in (GREETING, _NAME_HEAD):
        return ""
    if _NAME_HEAD.startswith(data):
        return None
    if not data.startswith(_NAME_HEAD):
        problem = "the peer is not a Webots controller"
        fix = "this address is for WEBOTS_CONTROLLER_URL=tcp://..."
        raise ProtocolError(problem, where="handshake", fix=fix, tail=data)
    name = data[len(_NAME_HEAD) :]
    if len(name) <= LONGEST_NAME and _ENCODED.fullmatch(name):
        return name.decode()
    plain = name.decode(errors="replace")
    if len(name) > LONGEST_PLAIN_NAME or not plain.isprintable() or "\ufffd" in plain:
        problem = f"robot name of {len(name)} bytes is too long, or is not text"
        raise ProtocolError(
            problem, where="handshake", fix="connect with an unmodified libController", tail=data
        )
    return encode_name(plain)


def encode_reason(reason: str) -> bytes:
    """Return the bytes that follow FORBIDDEN, or FAILED for a controller that names no robot."""
    return b"\n" + reason.encode()[:LONGEST_REASON]


def decode_robots(data: bytes) -> str:
    """Return the names of the robots in the bytes behind FAILED.

    They are empty if the peer gives none, as Webots.
    """
    return printable(data.strip().decode(errors="replace"))


def decode_reason(data: bytes) -> Forbidden | None:
    """Return the reason in the bytes behind FORBIDDEN; None: the peer gives none, as Webots."""
    text = data.strip().decode("ascii", "replace")
    return next((reason for reason in Forbidden if reason == text), None)


def decode_acknowledgement(data: bytes) -> Acknowledgement | None:
    """Return the acknowledgement; None while it is not complete.

    Raises:
        ProtocolError: This is other text.
    """
    for acknowledgement in Acknowledgement:
        if data == acknowledgement.encode():
            return acknowledgement
        if acknowledgement.encode().startswith(data):
            return None
    problem = f"{data[:40]!r} is not an answer of Webots"
    fix = "check the address; Webots prints its port at the start, 1234 by default"
    raise ProtocolError(problem, where="handshake", fix=fix, tail=data)
