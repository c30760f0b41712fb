"""The local sockets of a robot.

/tmp/webots/USER/PORT/ipc/ROBOT/extern, as of a Webots that listens on this port. libController
finds no folder whose name is not a number. ROBOT.plugin in the folder of the control sockets: for
the remote-control plug-in alone. No libController looks there, so a controller that is meant for
Webots never drives the real robot by accident.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from hilgw.engine.control_socket.listener import (
    ClientHandler,
    ControlListener,
    control_folder,
    remove_dead,
)
from hilgw.errors import HilgwError
from hilgw.protocols.webots.handshake import (
    EXTERN,
    INSTANCES,
    encode_name,
    instances_of,
    socket_path,
)

PLUGIN = ".plugin"
IMAGE = "snap.webots."  # as Webots names them
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL


class LocalSocket(ABC):
    """Socket for the local controllers of one robot; on_client gets each connection."""

    def __init__(self, robot: str, on_client: ClientHandler) -> None:
        self._robot = robot
        self._on_client = on_client
        self._listener: ControlListener | None = None
        self._images: set[Path] = set()

    @property
    def where(self) -> str:
        return "" if self._listener is None else str(self._listener.path)

    @abstractmethod
    def open(self, instance: int) -> None:
        """Listen on the socket of the robot.

        instance: the port of the gateway or Webots. HilgwError: another program has the socket, or
        it cannot be made.
        """

    def place(self, images: Mapping[str, bytes]) -> dict[str, str]:
        """Write an image of each device to a file next to the socket, for libController.

        Returns their paths. Raises OSError.
        """
        if self._listener is None:
            return {}
        folder, paths = self._listener.path.parent, {}
        for name, image in images.items():
            path = folder / (IMAGE + encode_name(name))
            path.unlink(missing_ok=True)
            self._images.add(path)
            with os.fdopen(os.open(path, _NEW_FILE, 0o600), "wb") as file:
                file.write(image)
            paths[name] = str(path)
        return paths

    def close(self) -> None:
        """Remove the socket, and the images."""
        for path in self._images:
            path.unlink(missing_ok=True)
        self._images.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _listen(self, path: Path, name: str, fix: str) -> None:
        listener = ControlListener(self._on_client, str(path), name=name, fix=fix)
        listener.start()
        self._listener = listener


class PluginSocket(LocalSocket):
    """Socket for the remote-control plug-in of one robot."""

    def open(self, instance: int) -> None:
        folder = control_folder()
        around = len(os.fsencode(folder)) + len(PLUGIN) + 1
        path = folder / (encode_name(self._robot, around) + PLUGIN)
        self._listen(path, "socket of the plug-in", "end the other gateway")


class WebotsSocket(LocalSocket):
    """Socket for libController, which looks in the folders of Webots."""

    def open(self, instance: int) -> None:
        folder = instances_of(os.environ) / str(instance)
        path = socket_path(folder, self._robot, EXTERN)
        _make_folders(path.parent)
        # A dead one would make a controller without a name ask which robot it means.
        remove_dead(found for found in (folder / "ipc").glob(f"*/{EXTERN}") if found != path)
        self._listen(
            path,
            "local socket of this robot",
            "end the other gateway or Webots, or leave out ipc: true",
        )

    def close(self) -> None:
        """Remove the folders that are empty then, too."""
        if self._listener is None:
            return
        robot = self._listener.path.parent
        super().close()
        for folder in (robot, robot.parent, robot.parent.parent):
            try:
                folder.rmdir()
            except OSError:
                break  # another robot is in it


def _make_folders(folder: Path) -> None:
    """Make the folders: the shared one as /tmp is, the others for this user alone."""
    try:
        if not INSTANCES.exists():
            INSTANCES.mkdir(exist_ok=True)
            INSTANCES.chmod(0o1777)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        user = INSTANCES / folder.relative_to(INSTANCES).parts[0]
        status = user.lstat()
    except OSError as error:
        raise HilgwError(
            f"cannot make the folder of the local socket: {error.strerror}",
            where=str(folder),
            fix="leave out ipc: true",
        ) from None
    if status.st_uid != os.getuid() or user.is_symlink():
        raise HilgwError(
            "the folder of the local socket belongs to another user",
            where=str(user),
            fix="remove it, or leave out ipc: true",
        )
    for made in (user, *list(folder.parents)[:2], folder):
        if made.stat().st_mode & 0o077:
            made.chmod(made.stat().st_mode & ~0o077)
