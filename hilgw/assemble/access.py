"""Who may connect from other hosts: the tokens and the certificate of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.security.access import Access, TokenCheck, read_token, server_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from hilgw.config.model import AccessConfig


def token_check(config: AccessConfig, now: Callable[[], int]) -> TokenCheck:
    """Of a listener whose clients command robots. now: real time. Raises ConfigError.

    Where there are no tokens, the certificate of a client is enough.
    """
    access = Access(
        (name, token.role, read_token(Path(token.file))) for name, token in config.tokens.items()
    )
    certified = config.tls is not None and config.tls.clients is not None
    return TokenCheck(
        access, "drive", now, no_token="drive" if certified and not config.tokens else None
    )


def tls_of(config: AccessConfig) -> ssl.SSLContext | None:
    """TLS of a listener; None with `plaintext: true` alone. Raises ConfigError."""
    tls = config.tls
    if tls is None:
        return None
    certificate, *others = (
        None if name is None else Path(name) for name in (tls.certificate, tls.key, tls.clients)
    )
    assert certificate is not None
    return server_context(certificate, *others)
