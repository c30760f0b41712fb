"""A start that fails leaves nothing behind, and names what failed."""

import os
import socket
from pathlib import Path

import pytest

from hilgw.errors import HilgwError
from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import COMMAND, HOST, ROOT, run, run_program

pytestmark = pytest.mark.process
HC12 = ["--config", str(ROOT / "configs" / "hc12.yaml"), "--duration", "20s"]


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("mocap ", ["--set", 'medium.mocap={{listen: "{host}:{udp}"}}']),
        ("in use", ["--set", 'metrics={{listen: "tcp://{host}:{tcp}"}}']),
        ("control socket", ["--control", "/nonexistent/x"]),
        (
            "cannot create this link",
            ["--set", 'airs.433MHz.nodes.more={{mock: hc12, link: "./no/x"}}'],
        ),
    ],
)
def test_a_start_that_fails_leaves_no_link_and_no_folder(
    reason: str, options: list[str], tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with socket.create_server((HOST, 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind((HOST, 0))
        ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
        given = [each.format(host=HOST, **ports) for each in options]
        done = run(*HC12, *given, cwd=tmp_path, TMPDIR=str(temporary))
    assert done.returncode not in (0, -9), done.stdout
    assert reason in done.stderr
    assert list(temporary.iterdir()) == []
    assert not os.path.lexists(tmp_path / "hc12-spare")


def test_an_existing_recording_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_text("mine")
    done = run(*HC12, "--record", "a.pcapng", cwd=tmp_path)
    assert done.returncode == HilgwError.exit_code
    assert "a.pcapng: exists already" in done.stderr
    assert "summary" not in done.stdout
    assert "ledger" not in done.stdout
    nowhere = run(*HC12, "--record", "no/a.pcapng", cwd=tmp_path)
    assert "no/a.pcapng: cannot write: no such folder" in nowhere.stderr
    assert "ledger" not in nowhere.stdout


def in_own_dev(script: str, cwd: Path) -> str:
    """Runs a shell script, where it may change /dev for itself: its output."""
    space = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if run_program(*space, "mount", "-t", "tmpfs", "none", "/dev/shm", cwd=cwd).returncode:
        pytest.skip("no file system can be mounted here")
    done = run_program(*space, "sh", "-c", script, *COMMAND, cwd=cwd, timeout_s=2 * DEADLINE_S)
    assert done.returncode, done.stdout
    return done.stdout + done.stderr


@pytest.mark.judge("unshare")
@pytest.mark.parametrize(
    ("folder", "words", "errors"),
    [
        ("/dev/pts", " ".join(HC12), ["cannot make a pseudo-terminal: ", "mount devpts on"]),
        ("/dev", "status <&-", ["hilgw"]),
    ],
)
def test_a_system_without_devices_causes_no_traceback(
    folder: str, words: str, errors: list[str], tmp_path: Path
) -> None:
    printed = in_own_dev(f'mount -t tmpfs none {folder} && "$0" "$@" {words}', tmp_path)
    assert all(each in printed for each in errors) and "Traceback" not in printed, printed


@pytest.mark.judge("prlimit")
def test_too_few_descriptors_are_named(tmp_path: Path) -> None:
    for limit in (6, 13):
        words = 'exec prlimit --nofile="$0" -- "$@"'
        done = run_program("sh", "-c", words, str(limit), *COMMAND, *HC12, cwd=tmp_path)
        assert done.returncode
        assert "Too many open files" in done.stderr
        assert "raise ulimit -n" in done.stderr
        assert "cannot write" not in done.stderr
