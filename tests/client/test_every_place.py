"""Where a stop looks for gateways: in every place that any shell of this user may choose."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.client import Gateway, arming
from hilgw.client.control_paths import control_sockets, live_sockets
from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.gateway import messages
from hilgw.testing.sim import DEADLINE_S, wait_until
from hilgw.view.gateway import UP
from hilgw.web.model import Bench
from hilgw.web.sources import Live
from hilgw.web.stop_server import stop_all
from tests.client.several import Running, frozen, running, with_robots

Owned = Callable[[dict[Path, int]], None]
USER = os.getuid()
PLACES = [f"sessions/{USER}/hilgw", f"tmp/hilgw-{USER}", f"tmp/hilgw-{USER}-x7", "services/lab"]


@pytest.fixture
def shell(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, owned_by: Owned
) -> Path:
    """A shell whose XDG_RUNTIME_DIR is SHELL/own, on a machine whose folders are in SHELL. A busy
    machine makes no gateway silent. The name of a test would leave no room for a socket's path."""
    tmp_path = tmp_path_factory.mktemp("s")
    for name in ("own", "sessions", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(messages, "SHARED", tmp_path / "tmp")
    monkeypatch.setattr(messages, "SESSIONS", tmp_path / "sessions")
    monkeypatch.setattr(messages, "SERVICES", tmp_path / "services")
    monkeypatch.setattr(arming, "ASK_ALL_S", DEADLINE_S)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "own"))
    owned_by({tmp_path / "services": 0})
    return tmp_path


def made(folder: Path, mode: int = 0o700) -> Path:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    return folder


@contextmanager
def gateway(folder: Path) -> Iterator[Running]:
    with running(made(folder), g=with_robots("cab")) as started:
        yield started


def by_command() -> None:
    assert main(["disarm", "--all"]) == 0


def by_program() -> None:
    assert arming.disarm() == ["cab"]


def by_page() -> None:
    stopped = stop_all()
    assert [name for name, _ in stopped.robots] == ["cab"] and not stopped.errors


@pytest.mark.parametrize("stop", [by_command, by_program, by_page])
@pytest.mark.parametrize("place", PLACES)
def test_a_gateway_of_another_shell_is_stopped(
    place: str, stop: Callable[[], None], shell: Path
) -> None:
    with gateway(shell / place) as running:
        assert running.armed() == {"g.cab"}
        stop()
        assert not running.armed()


@pytest.mark.parametrize("place", PLACES)
def test_a_gateway_of_another_shell_is_shown(
    place: str, shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(shell / place / "g.sock")
    with gateway(shell / place):
        for command in (["status"], ["status", "--config", "g"]):
            main(command)
            assert "cab: armed" in capsys.readouterr().out
        assert main(["metrics"]) == 0
        assert 'config="/g.yaml"' in capsys.readouterr().out
        assert [str(each.path) for each in Gateway.find_all()] == [path]
        live = Live(Bench(time.monotonic_ns))
        live.start()
        try:
            views = live.bench.gateways
            wait_until(lambda: path in views and views[path].state(live.bench.now()) == UP)
        finally:
            live.close()


def test_a_gateway_under_two_names_is_stopped_and_found_once(
    shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where the folder of a session is a link to that of XDG_RUNTIME_DIR."""
    (shell / "sessions" / f"{USER}").symlink_to(shell / "own")
    with gateway(shell / "own" / "hilgw") as running:
        assert len(Gateway.find_all()) == 1
        by_command()
        assert not running.armed()
    assert capsys.readouterr() == ("cab: disarmed\n", "")


def test_starting_and_arming_choose_one_place(
    shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = shell / PLACES[0]
    with gateway(place) as running:
        assert control_folder() == shell / "own" / "hilgw"
        by_command()
        capsys.readouterr()
        for more in ([], ["--config", "g"]):
            assert main(["arm", "cab", *more]) == 5
            fix = f"one that another shell started is at {place}/g.sock: name it with --control"
            assert capsys.readouterr().err.rstrip().endswith(fix)
        assert not running.armed()
        assert main(["arm", "cab", "--control", f"{place}/g.sock"]) == 0


@pytest.mark.parametrize("command", [["disarm", "--all"], ["status"], ["metrics"]])
def test_none_names_where_it_looked(
    command: list[str], shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 5
    looked = ", ".join(
        f"{shell}/{each}"
        for each in ("own/hilgw", f"sessions/{USER}/hilgw", f"tmp/hilgw-{USER}*", "services/*")
    )
    assert capsys.readouterr().err == (
        f"hilgw: no gateway of yours is running: looked in {looked}; "
        "start one with hilgw --config FILE\n"
    )


def test_a_relative_runtime_folder_is_ignored(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "own")
    assert control_folder() == shell / "tmp" / f"hilgw-{USER}"
    assert not list((shell / "own").iterdir())
    with gateway(shell / "own" / "hilgw") as running:
        with pytest.raises(PeerError, match="no gateway of yours"):
            arming.disarm()
        assert running.armed()


def test_folders_of_other_users_are_neither_trusted_nor_in_the_way(
    shell: Path, owned_by: Owned, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions, shared, more = (shell / place for place in PLACES[:3])
    link = shell / "tmp" / f"hilgw-{USER}-link"
    with gateway(sessions) as hostile, gateway(shared) as open_to_all, gateway(more) as mine:
        link.symlink_to(shared)
        shared.chmod(0o777)
        owned_by({sessions: USER + 1, shared: USER + 1, link: USER + 1})
        assert control_sockets() == [more / "g.sock"]
        assert main(["disarm", "--all"]) == 0
        assert (hostile.armed(), open_to_all.armed(), mine.armed()) == ({"g.cab"}, {"g.cab"}, set())
    assert capsys.readouterr() == ("cab: disarmed\n", "")


def test_an_own_folder_that_is_open_is_named_and_hides_no_other(
    shell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = shell / PLACES[0], shell / PLACES[1]
    with gateway(first) as not_private, gateway(second) as private:
        first.chmod(0o755)
        assert main(["disarm", "--all"]) == 1
        assert (not_private.armed(), private.armed()) == ({"g.cab"}, set())
        assert f"{first}: not a private folder of this user" in capsys.readouterr().err
        second.chmod(0o755)
        with pytest.raises(HilgwError, match=rf"{first}: not a private.*; {second}: not a private"):
            arming.disarm()


def test_what_only_shows_is_found_in_its_own_shell(shell: Path) -> None:
    folder = made(shell / PLACES[0])
    with frozen(folder / "1.look"):
        assert live_sockets(messages.LOOK) == []
        assert live_sockets(messages.LOOK, everywhere=True) == [folder / "1.look"]


@pytest.fixture
def elsewhere(shell: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A gateway that runs /g.yaml; the current folder is another one."""
    monkeypatch.chdir(made(shell / "here"))
    with gateway(shell / "own" / "hilgw") as running:
        running.loop.call_soon_threadsafe(running.gateways["g"].control_loops.disarm, "cab")
        wait_until(lambda: not running.armed())
        yield running


@pytest.mark.parametrize("command", ["arm", "disarm"])
def test_a_file_that_is_here_is_not_the_one_of_that_name_elsewhere(
    command: str, elsewhere: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("g").mkdir()  # no file: the name counts
    for named in ("g.yaml", "g", "/g.yaml", "../../../../../../../../../g.yaml"):
        assert main(["arm", "cab", "--config", named]) == 0
        assert elsewhere.armed() == {"g.cab"}
        assert main(["disarm", "cab", "--config", named]) == 0
    Path("g").rmdir()
    Path("g.yaml").touch()
    for named in ("g.yaml", "g", "./g.yaml"):
        assert main([command, "cab", "--config", named]) == 5
        here = Path("g.yaml").resolve()
        assert f"no running gateway has the configuration {here}; there is /g.yaml at" in (
            capsys.readouterr().err
        )
    assert not elsewhere.armed()


def test_the_file_that_runs_is_known_by_its_name_here(
    shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hilgw.client.control_socket import is_named

    monkeypatch.chdir(made(shell / "here"))
    Path("g.yaml").touch()
    Path("link.yaml").symlink_to("g.yaml")
    for name in ("g.yaml", "g", "link.yaml", "link", f"{Path.cwd()}/g"):
        assert is_named(str(Path("g.yaml").resolve()), name)
        assert not is_named("/other/g.yaml", name)
