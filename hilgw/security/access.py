"""Who may connect to a listener: tokens with a role, TLS, and which addresses need them.

A listener on a loopback address serves every program of this machine. On any other address a
client presents a token, and the connection is inside TLS unless the configuration allows plain
text. Every listener of the gateway that accepts other hosts asks this module.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import ssl
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hilgw.errors import ConfigError

ROLES = ("monitor", "drive", "admin")
TOKEN = re.compile(r"[A-Za-z0-9_-]{22,256}")  # at least 128 bits in base 64
MAX_FILE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Grant:
    """What a client may do. name: of its token, for the log; role: one of ROLES."""

    name: str
    role: str

    def allows(self, role: str) -> bool:
        """monitor: read; drive: command robots, too; admin: change the gateway, too."""
        return ROLES.index(self.role) >= ROLES.index(role)


LOCAL = Grant("this machine", "admin")


class Access:
    """The tokens of one configuration. Tokens are kept as digests only."""

    def __init__(self, tokens: Iterable[tuple[str, str, str]] = ()) -> None:
        """tokens: (name, role, token)."""
        self._grants = [(_digest(token), Grant(name, role)) for name, role, token in tokens]

    def grant(self, token: str | None) -> Grant | None:
        """What this token allows; None: nothing. Takes the same time for every token."""
        digest = _digest(token or "")
        found = None
        for known, grant in self._grants:
            if hmac.compare_digest(known, digest) and token:
                found = grant
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def read_token(path: Path) -> str:
    """The token in a file. Raises ConfigError: unreadable, readable by other users, not a token."""
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
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            "other users can read the token file", where=str(path), fix=f"chmod 600 {path}"
        )
    if not TOKEN.fullmatch(text):
        raise ConfigError(
            "the file holds no token (22 to 256 letters, digits, - or _)",
            where=str(path),
            fix=f"create one with: hilgw token {path}",
        )
    return text


def write_token(path: Path) -> str:
    """Creates a file of mode 0600 with a new token, and returns the token. An existing file is an
    error."""
    token = secrets.token_urlsafe(24)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(token + "\n")
    except OSError as error:
        raise ConfigError(
            f"cannot create the token file: {error.strerror}",
            where=str(path),
            fix="name a file that does not exist",
        ) from error
    return token


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """TLS 1.2 or newer with this certificate chain. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"the certificate cannot be used: {what}",
            where=str(certificate),
            fix="name a PEM file with the certificate, and one with its private key",
        ) from error
    return context


def client_context(authority: Path | None) -> ssl.SSLContext:
    """TLS that checks the server's certificate. authority: PEM file of the certificate that signed
    it; None: those of this machine."""
    context = ssl.create_default_context(cafile=authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
