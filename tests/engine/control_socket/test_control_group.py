"""The control socket of a group: other users reach it, and folders that are not trusted. As root,
with processes of two other users."""

from __future__ import annotations

import asyncio
import grp
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.client.arming import arm
from hilgw.client.control_paths import control_sockets
from hilgw.client.control_socket import find_gateway
from hilgw.engine.control_socket.listener import ControlListener, closed_to, control_folder
from hilgw.errors import ConfigError, PeerError
from hilgw.protocols.gateway import messages

SERVICE, MEMBER, STRANGER = 64001, 64002, 64003  # users that no system has
GROUP = 64010


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In place of /run; any user passes it."""
    made = Path(tempfile.mkdtemp(prefix="hilgw-service-"))
    made.chmod(0o755)
    monkeypatch.setattr(messages, "SERVICES", made / "hilgw")
    monkeypatch.setattr(messages, "SHARED", made / "tmp")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (made / "hilgw").mkdir(mode=0o755)
    (made / "tmp").mkdir()
    (made / "tmp").chmod(0o1777)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group `lab`, which is not in the files of this system."""
    real = grp.getgrnam

    def named(name: str) -> object:
        return SimpleNamespace(gr_gid=GROUP) if name == "lab" else real(name)

    monkeypatch.setattr(grp, "getgrnam", named)


def as_user(user: int, groups: list[int], work: Callable[[], str]) -> str:
    """What `work` returns, or the error that it raises, in a process of this user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(groups[0] if groups else user)
            os.setuid(user)
            answer = work()
        except BaseException as error:  # noqa: BLE001 - the parent shows it
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def modes(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return stat.S_IMODE(status.st_mode), status.st_gid


class Service:
    """A gateway's socket as the user of the service makes it, in another process until `end`."""

    def __init__(self, path: Path | None, group: str | None = "lab") -> None:
        ready, self._ready = os.pipe()
        self._end_reading, self._end = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            self._serve(path, group)
        os.close(self._ready)
        with os.fdopen(ready) as stream:
            self.answer = stream.read()

    def _serve(self, path: Path | None, group: str | None) -> None:
        os.close(self._end)
        try:
            os.setgroups([GROUP])
            os.setgid(SERVICE)
            os.setuid(SERVICE)
            os.umask(0o077)

            async def listen() -> None:
                listener = ControlListener(answer, str(path) if path else None, group=group)
                listener.start()
                os.write(self._ready, str(listener.path).encode())
                os.close(self._ready)
                loop = asyncio.get_running_loop()
                ended = loop.create_future()
                loop.add_reader(self._end_reading, ended.set_result, None)
                await ended
                listener.close()

            asyncio.run(listen())
        except BaseException as error:  # noqa: BLE001
            os.write(self._ready, f"{type(error).__name__}: {error}".encode())
        os._exit(0)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._end)
        os.close(self._end_reading)
        os.waitpid(self.child, 0)


def answer(connection: socket.socket) -> None:
    """As a gateway that has the robot of every request."""
    with connection:
        connection.setblocking(True)
        connection.settimeout(2)
        if connection.recv(65536):
            connection.sendall(b'{"ok": true, "robots": ["cab"], "version": 2}\n')


def arms() -> str:
    return ", ".join(arm("cab"))


@pytest.mark.needs_root
def test_a_service_is_found_in_run_and_serves_its_group_alone(folder: Path, lab: None) -> None:
    """Without a group its user alone."""
    with pytest.raises(PeerError, match="no gateway of yours"):
        find_gateway(None)
    own = folder / "hilgw" / "lab"
    own.mkdir(mode=0o755)
    os.chown(own, SERVICE, SERVICE)
    with Service(own / "hilgw.sock", group=None):
        assert modes(own / "hilgw.sock")[0] == 0o600
        assert "no gateway of yours" in as_user(MEMBER, [MEMBER, GROUP], arms)
    own.chmod(0o750)
    with Service(own / "hilgw.sock") as service:
        assert service.answer == str(own / "hilgw.sock")
        assert modes(own / "hilgw.sock") == (0o660, GROUP)
        assert modes(own) == (0o750, GROUP)
        assert as_user(MEMBER, [MEMBER, GROUP], arms) == "cab"
        assert "no gateway of yours is running" in as_user(STRANGER, [STRANGER], arms)
        assert "does not answer" in as_user(
            STRANGER, [STRANGER], lambda: ", ".join(arm("cab", control=service.answer))
        )
        assert find_gateway(None) == own / "hilgw.sock"  # of root


@pytest.mark.needs_root
def test_its_own_folder_is_passable_for_the_group_and_no_more(folder: Path, lab: None) -> None:
    with Service(None) as service:
        path = Path(service.answer)
        assert path.parent == folder / "tmp" / f"hilgw-{SERVICE}"
        assert modes(path.parent) == (0o710, GROUP)
        assert modes(path) == (0o660, GROUP)
        assert (
            as_user(MEMBER, [MEMBER, GROUP], lambda: arm("cab", control=service.answer)[0]) == "cab"
        )
        listing = as_user(MEMBER, [MEMBER, GROUP], lambda: str(list(path.parent.iterdir())))
        assert listing.startswith("PermissionError")
        # A folder of another user is not searched, though it can be passed.
        assert "no gateway of yours" in as_user(MEMBER, [MEMBER, GROUP], arms)
    with Service(None, group="root") as service:
        assert "control.group: this user is not in the group 'root'" in service.answer
    assert not list((folder / "tmp").rglob("*.sock"))


@pytest.mark.parametrize("group", ["no such group", "a\0b", ""])
def test_an_unknown_group_is_an_error_and_leaves_no_socket(tmp_path: Path, group: str) -> None:
    listener = ControlListener(answer, str(tmp_path / "control"), group=group)
    with pytest.raises(ConfigError, match=r"control\.group: there is no group '"):
        listener.start()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def planted(folder: Path) -> Iterator[Path]:
    """A socket that anyone may use, in a folder below the one of services."""
    own = folder / "hilgw" / "lab"
    own.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(own / "hilgw.sock"))
        (own / "hilgw.sock").chmod(0o666)
        listening.listen()
        yield own


@pytest.mark.needs_root
def test_the_folder_of_services_is_trusted_only_when_root_alone_can_change_it(
    folder: Path, planted: Path
) -> None:
    assert control_sockets() == [planted / "hilgw.sock"]
    for mode in (0o775, 0o757, 0o1777):
        planted.parent.chmod(mode)
        assert control_sockets() == []
    planted.parent.chmod(0o755)
    os.chown(planted.parent, STRANGER, -1)
    assert control_sockets() == []


@pytest.mark.needs_root
def test_links_and_folders_that_others_change_are_passed_by(folder: Path, planted: Path) -> None:
    planted.rename(folder / "elsewhere")
    planted.symlink_to(folder / "elsewhere")
    assert control_sockets() == []
    planted.unlink()
    (folder / "elsewhere").rename(planted)
    planted.chmod(0o777)
    assert control_sockets() == []


def test_a_private_folder_may_be_passable_and_not_more(folder: Path) -> None:
    own = control_folder()
    own.chmod(0o710)
    assert control_folder() == own
    for mode in (0o750, 0o720, 0o711, 0o755):
        own.chmod(mode)
        with pytest.raises(Exception, match="not a private folder"):
            control_folder()


def test_a_folder_that_the_group_cannot_pass_is_named(folder: Path) -> None:
    inner = folder / "tmp" / "private"
    inner.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(inner / "s"))
        assert closed_to(inner / "s") == inner
        inner.chmod(0o710)
        assert closed_to(inner / "s") is None
