"""Who may connect from other hosts: the tokens and the certificate of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.security.access import Access, read_token, server_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from hilgw.config.model import AccessConfig


def access_of(config: AccessConfig) -> Access:
    """Reads the token files. Raises ConfigError."""
    return Access(
        (name, token.role, read_token(Path(token.file))) for name, token in config.tokens.items()
    )


def permission_to_drive(config: AccessConfig) -> Callable[[str | None], bool]:
    """Whether a token lets its client command robots. Raises ConfigError."""
    access = access_of(config)

    def permits(token: str | None) -> bool:
        grant = access.grant(token)
        return grant is not None and grant.allows("drive")

    return permits


def tls_of(config: AccessConfig) -> ssl.SSLContext | None:
    """TLS of a listener; None with `plaintext: true` alone. Raises ConfigError."""
    tls = config.tls
    if tls is None:
        return None
    return server_context(Path(tls.certificate), None if tls.key is None else Path(tls.key))
