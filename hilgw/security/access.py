"""Access to a listener: tokens with a role, TLS, and which addresses need them.

A listener on a loopback address serves every program of this machine. On any other address a
client presents a token, and the connection is inside TLS unless the configuration allows plain
text. Every listener of the gateway that accepts other hosts asks this module.
"""

import hashlib
import hmac
import os
import re
import secrets
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

from hilgw.errors import ConfigError
from hilgw.protocols.webots.handshake import Forbidden
from hilgw.reasons import RequestRefused
from hilgw.transports.private_files import (
    KEY_READABLE,
    TOKEN_READABLE,
    is_key_exposed,
    is_token_exposed,
    make_private,
    mode_of,
)
from hilgw.units import NS_PER_S

ROLES = ("monitor", "drive", "admin")
TOKEN = re.compile(r"[A-Za-z0-9_-]{22,256}")  # at least 128 bits in base 64
MAX_FILE_BYTES = 4096
MAX_WRONG_TOKENS = 3  # from one address within PERIOD_NS
PERIOD_NS = NS_PER_S
MAX_ADDRESSES = 4096


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission of a client. name: of its token, for the log; role: one of ROLES."""

    name: str
    role: str

    def allows(self, role: str) -> bool:
        """Return whether the role is allowed.

        monitor: read; drive: command robots, too; admin: change the gateway, too.
        """
        return ROLES.index(self.role) >= ROLES.index(role)


LOCAL = Grant("this machine", "admin")


class Access:
    """The tokens of one configuration. Tokens are kept as digests only."""

    def __init__(self, tokens: Iterable[tuple[str, str, str]] = ()) -> None:
        self._grants = [(_digest(token), Grant(name, role)) for name, role, token in tokens]

    def grant(self, token: str | None) -> Grant | None:
        """Return what this token allows; None: nothing.

        Takes the same time for every token.
        """
        digest = _digest(token or "")
        match = None
        for known, grant in self._grants:
            if hmac.compare_digest(known, digest) and token:
                match = grant
        return match


class TokenCheck:
    """Check of the clients of one listener: may they do what needs `role`.

    After three wrong tokens from an address within a second, its further tries are refused and not
    compared, until that second is over. no_token: the role that each client has without a token.
    limited: whether tries are limited in this way. now: monotonic time, integer nanoseconds.
    """

    def __init__(
        self,
        access: Access,
        role: str,
        now: Callable[[], int],
        *,
        no_token: str | None = None,
        limited: bool = True,
    ) -> None:
        self._limited = limited
        self._access = access
        self._role = role
        self._now = now
        self._unnamed = None if no_token is None else Grant("no token", no_token)
        self._wrong: dict[str, deque[int]] = {}  # by address, when its last wrong tokens came

    def __call__(self, token: str | None, peer: str) -> RequestRefused | None:
        now, address = self._now(), _address_of(peer)
        wrong = self._wrong.get(address)
        if wrong and len(wrong) == MAX_WRONG_TOKENS and now - wrong[0] < PERIOD_NS:
            return RequestRefused.TOO_MANY_TRIES
        grant = self._unnamed if token is None else self._access.grant(token)
        if grant is not None and grant.allows(self._role):
            return None
        if token is not None and grant is None and self._limited:
            self._note(address, now)
        return RequestRefused.NOT_PERMITTED

    def why(self, token: str | None, reason: RequestRefused) -> Forbidden:
        """Return the reason for the message to a client that was refused."""
        if reason is RequestRefused.TOO_MANY_TRIES:
            return Forbidden.TOO_MANY_TRIES
        if token is None:
            return Forbidden.NO_TOKEN
        known = self._access.grant(token) is not None
        return Forbidden.MONITOR_TOKEN if known else Forbidden.WRONG_TOKEN

    def _note(self, address: str, now: int) -> None:
        wrong = self._wrong.pop(address, None) or deque(maxlen=MAX_WRONG_TOKENS)
        wrong.append(now)
        self._wrong[address] = wrong
        if len(self._wrong) > MAX_ADDRESSES:
            del self._wrong[next(iter(self._wrong))]


def _address_of(peer: str) -> str:
    """Return one address for each client that may choose its own: of IPv6, the first 64 bits."""
    host = peer.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        version = ip_address(host).version
    except ValueError:
        return host
    return host if version == 4 else str(ip_network(f"{host}/64", strict=False))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def read_token(path: Path) -> str:
    """Return the token in a file.

    Raises:
        ConfigError: unreadable, readable by other users, not a token.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(MAX_FILE_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise ConfigError(
            f"the token file cannot be read: {error.strerror}",
            where=str(path),
            fix=f"create it with: hilgw token {path}",
        ) from error
    if is_token_exposed(mode):
        raise ConfigError(TOKEN_READABLE, where=str(path), fix=make_private(path))
    if not TOKEN.fullmatch(text):
        raise ConfigError(
            "the file holds no token (22 to 256 letters, digits, - or _)",
            where=str(path),
            fix=f"create one with: hilgw token {path}",
        )
    return text


def write_token(path: Path) -> str:
    """Create a file of mode 0600 with a new token, and return the token.

    An existing file is an error.
    """
    token = secrets.token_urlsafe(24)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(token + "\n")
        except OSError:
            path.unlink()  # an empty one would refuse the next try
            raise
    except OSError as error:
        raise ConfigError(
            f"cannot create the token file: {error.strerror}",
            where=str(path),
            fix="name a file that does not exist",
        ) from error
    return token


def _check_private(path: Path) -> None:
    """Refuse a file that others may read; an absent file is reported later."""
    mode = mode_of(path)
    if mode is not None and is_key_exposed(mode):
        raise ConfigError(KEY_READABLE, where=str(path), fix=make_private(path))


def server_context(
    certificate: Path, key: Path | None, client_authority: Path | None = None
) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer with this certificate chain.

    `client_authority` is the PEM file of the certificate that signed those of the clients; a client
    without one has no connection.

    Raises:
        ConfigError: a file is invalid, or every user of this machine can read the key.
    """
    _check_private(key or certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"the certificate cannot be used: {problem}",
            where=str(certificate),
            fix="name a PEM file with the certificate, and one with its private key",
        ) from error
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(client_authority)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                "the certificate of the clients' authority cannot be used",
                where=str(client_authority),
                fix="name a PEM file with the certificate that signed those of the clients",
            ) from error
    return context
