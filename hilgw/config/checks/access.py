"""Checks of the access from other hosts."""

from collections.abc import Iterator
from pathlib import Path as FilePath

from hilgw.config.context import Inspection
from hilgw.config.model import AccessConfig
from hilgw.config.queries import is_local
from hilgw.config.source.positions import Path
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
