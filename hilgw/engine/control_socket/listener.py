"""The listening end of a local socket: a socket in the file system that is never another's.

The file of a listening socket stays when its process is killed. A dead one is replaced or removed,
a live one never is. The folder of this user's control sockets is made if needed (see
`hilgw.protocols.gateway.messages`).
"""

import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from hilgw.errors import ConfigError, HilgwError, printable, quoted
from hilgw.protocols.gateway import messages
from hilgw.protocols.gateway.messages import PASS, folders, is_live, is_private, shared_folder
from hilgw.transports.accepting import Accepting

BACKLOG = 64
NAMES = 100

ClientHandler = Callable[[socket.socket], None]


class ControlListener:
    """A listener that accepts connections and calls on_client(connection) for each.

    They do not block.

    path: where the socket is; None: PID and the suffix in the control folder, or PID-N where a
    gateway of another container has the same number. It has mode 0600. group: its
    users may connect, too: it has mode 0660. name, fix: of the error when another program has the
    socket.
    """

    def __init__(
        self,
        on_client: ClientHandler,
        path: str | None = None,
        *,
        group: str | None = None,
        name: str = "control socket",
        fix: str = "name another path with --control",
        suffix: str = ".sock",
    ) -> None:
        self._group, self._suffix = group, suffix
        self._what = name
        self._fix = fix
        self.path = Path(path or "")
        self._given = path is not None
        self._on_client = on_client
        self._accepting: Accepting | None = None
        self._file = (0, 0)

    def start(self) -> None:
        """Start to listen. HilgwError when the socket cannot be made; then nothing is left."""
        try:
            listening = self._listen_at_path() if self._given else self._listen_in_folder()
        except OSError as error:
            reason = error.strerror or f"{error}"  # a path that is too long has no number
            path = "another path" if error.strerror else "a shorter path"
            fix = f"name {path} with --control, or set XDG_RUNTIME_DIR"
            raise HilgwError(
                f"cannot make the {self._what}: {reason}",
                where=str(self.path),
                fix=fix if self._what == "control socket" else self._fix,
            ) from None
        self._accepting = Accepting(listening, lambda connection, _: self._on_client(connection))

    def close(self) -> None:
        """Remove the socket and stop listening. Accepted connections stay open."""
        if self._accepting is None:
            return
        if _file(self.path) == self._file:
            self.path.unlink(missing_ok=True)
        self._accepting.close()
        self._accepting = None

    # --- the file ---------------------------------------------------------------------------------

    def _listen_at_path(self) -> socket.socket:
        if self._group is not None and self.path.parent.parent == messages.SERVICES:
            open_to(self.path.parent, self._group)
        with suppress(FileExistsError):
            return self._listen()
        remove_dead([self.path])
        try:
            return self._listen()
        except FileExistsError:
            raise HilgwError(
                f"another program has this {self._what}",
                where=str(self.path),
                fix=self._fix,
            ) from None

    def _listen_in_folder(self) -> socket.socket:
        folder = control_folder()
        if self._group is not None:
            open_to(folder, self._group)
        remove_dead(folder.glob(f"*{self._suffix}"))
        for number in range(1, NAMES):
            more = f"-{number}" if number > 1 else ""
            self.path = folder / f"{os.getpid()}{more}{self._suffix}"
            with suppress(FileExistsError):
                return self._listen()
        raise HilgwError("too many control sockets", where=str(folder), fix="remove some")

    def _listen(self) -> socket.socket:
        """Return a socket that listens at `path`. FileExistsError when there is something already.

        It listens under another name first: at `path` nothing refuses connections, ever.
        """
        first = self.path.with_name(f".{secrets.token_hex(3)}")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.setblocking(False)
            listening.bind(str(first))
            try:
                first.chmod(0o600)
                if self._group is not None:
                    open_to(first, self._group)
                listening.listen(BACKLOG)
                self._file = _file(first)
                os.link(first, self.path)
            finally:
                first.unlink()
        except BaseException:
            listening.close()
            raise
        return listening


def open_to(path: Path, name: str) -> None:
    """Let the users of a group use this socket, or pass this folder.

    ConfigError when there is no such group, or this user is not in it.
    """
    import grp  # not on Windows

    where = "control.group"
    try:
        os.chown(path, -1, grp.getgrnam(name).gr_gid)
    except (KeyError, ValueError):  # ValueError: a NUL
        raise ConfigError(
            f"there is no group {quoted(name)}",
            where=where,
            fix=f"sudo groupadd {printable(name)}",
        ) from None
    except PermissionError:
        raise ConfigError(
            f"this user is not in the group {quoted(name)}",
            where=where,
            fix=f"sudo usermod -aG {printable(name)} USER, then log in again",
        ) from None
    mode = path.lstat().st_mode
    path.chmod(0o660 if stat.S_ISSOCK(mode) else stat.S_IMODE(mode) | PASS)


def closed_to(path: Path) -> Path | None:
    """Return the first folder above this socket of a group that its users cannot pass.

    None: they can.
    """
    group = path.lstat().st_gid
    for folder in reversed(path.absolute().parents):
        status = folder.stat()
        passes = PASS if status.st_gid == group else PASS >> 3
        if not status.st_mode & passes:
            return folder
    return None


def remove_dead(sockets: Iterable[Path]) -> None:
    """Remove the dead sockets among these files of one folder.

    The folder is locked: between the test of a socket and its removal no other gateway may replace
    it. When another gateway has the lock or a file cannot be removed, it stays.
    """
    import fcntl  # not on Windows

    for path in sockets:
        try:
            folder = os.open(path.parent, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket(socket.AF_UNIX) as probe:
                probe.setblocking(False)
                if stat.S_ISSOCK(path.lstat().st_mode) and not is_live(path, probe.connect):
                    path.unlink()
        except OSError:
            continue
        finally:
            os.close(folder)


def _file(path: Path) -> tuple[int, int]:
    """Return what distinguishes this file from any other; (0, 0) when there is none."""
    try:
        status = path.lstat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def control_folder() -> Path:
    """Return the folder for a new control socket, made if needed.

    HilgwError when the folder of this user is open to others, or when none can be made.
    """
    user = os.getuid()
    for folder in folders(user, os.environ, Path.stat, Path.glob):
        with suppress(OSError):  # another user's, perhaps: its status decides
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(folder, user, Path.lstat):
            return folder
    shared = shared_folder(user)
    try:
        return Path(tempfile.mkdtemp(prefix=f"{shared.name}-", dir=shared.parent))
    except OSError as error:
        raise HilgwError(
            f"cannot make a private folder for the control socket: {error.strerror}",
            where=str(shared.parent),
            fix="set XDG_RUNTIME_DIR, or name a path with --control",
        ) from None
