"""The control sockets of this user's gateways, and which of them are live.

Their folders are in `hilgw.protocols.gateway.messages`.
"""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from hilgw.errors import HilgwError, PeerError, printable
from hilgw.protocols.gateway import messages
from hilgw.protocols.gateway.messages import (
    GATEWAY,
    LOOK,
    folders,
    is_private,
    service_folders,
    shared_folder,
)


def live_sockets(suffix: str = GATEWAY, *, everywhere: bool = False) -> list[Path]:
    """Return the control sockets of this user's running gateways, where a gateway of this shell is.

    Args:
      suffix: LOOK: of the programs that are only watched, `hilgw bridge` and `mock`.
      everywhere: see `control_sockets`.

    Raises:
      HilgwError: their folder is open to other users.
    """
    return [path for path in control_sockets(suffix, everywhere=everywhere) if is_live(path)]


def control_sockets(
    suffix: str = GATEWAY,
    *,
    everywhere: bool = True,
    on_problem: Callable[[HilgwError], None] | None = None,
) -> list[Path]:
    """Return the control sockets of this user, and those that killed gateways left; ask no program.

    Args:
        suffix: The end of their names.
        everywhere: Of the gateways that any shell of this user started, as a stop needs them.
        on_problem: Called for each folder that is open to other users, in place of HilgwError.
    """
    user = os.getuid()
    sockets: list[Path] = []
    for folder in _places(everywhere=everywhere):
        try:
            if is_private(folder, user, Path.lstat):
                sockets += [path for path in sorted(folder.glob(f"*{suffix}")) if path.is_socket()]
        except HilgwError as error:
            if on_problem is None:
                raise
            on_problem(error)
    if suffix != LOOK:
        sockets += _sockets_of_services()
    return list({path.resolve(): path for path in sockets}.values())  # two names of one folder


def none_found(*, everywhere: bool) -> PeerError:
    """Return the error that no gateway runs: where hilgw looked, and one that runs elsewhere."""
    shared = shared_folder(os.getuid())
    places = [
        f"{shared}*" if each.parent == shared.parent else str(each)
        for each in _places(everywhere=everywhere)
    ]
    looked = ", ".join(dict.fromkeys([*places, f"{messages.SERVICES}/*"]))
    fix = "start one with hilgw --config FILE"
    if other := next(filter(is_live, control_sockets(on_problem=lambda _: None)), None):
        fix = f"one that another shell started is at {other}: name it with --control"
    return PeerError(f"no gateway of yours is running: looked in {looked}", fix=fix)


def _places(*, everywhere: bool) -> list[Path]:
    """Return the folders to look in, without those of services.

    Another user may own one.
    """
    user = os.getuid()
    first, *more = folders(user, os.environ, Path.stat, Path.glob, everywhere=everywhere)
    apart = not everywhere and first != shared_folder(user)  # XDG_RUNTIME_DIR keeps gateways apart
    return [first] if apart and is_private(first, user, Path.lstat) else [first, *more]


def _sockets_of_services() -> list[Path]:
    """Return the sockets that this user may use.

    `glob` finds nothing in a folder that the user cannot list.
    """
    services = service_folders(Path.lstat, Path.glob)
    sockets = [path for folder in services for path in sorted(folder.glob("*.sock"))]
    return [path for path in sockets if path.is_socket() and os.access(path, os.R_OK | os.W_OK)]


def is_live(path: Path) -> bool:
    """Return True if a program listens on this socket, to which a connection is made."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        return messages.is_live(path, probe.connect)


def program_at(path: Path) -> str:
    """Return number and command line of the program that listens on this socket, if known.

    It need not answer, so that a user can find one that hangs.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            probe.connect(str(path))
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(credentials[:4], sys.byteorder)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (OSError, AttributeError):  # SO_PEERCRED: Linux alone
        return ""
    return f"process {pid}: {printable(' '.join(words).strip()[:200])}"
