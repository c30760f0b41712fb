"""`--speed`: the installed command in simulated time."""

from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, in_process, run

SWARM = str(ROOT / "configs" / "swarm.yaml")


def test_commands_reach_a_gateway_that_races(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", SWARM, "--backend", "mock", "--speed", "max"]) as gateway:
        wait_until(lambda: "up:" in gateway.text())
        assert run("send", "bee1.tx", "by hand", cwd=tmp_path).returncode == 0
        assert run("place", "ant1", "0", "0", "0", cwd=tmp_path).returncode == 0
        assert gateway.stop() == 130
        assert "the ledger adds up" in gateway.text()


def test_hardware_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    done = run("--config", SWARM, "--backend", "real", "--speed", "2", cwd=tmp_path)
    assert done.returncode == 3
    assert "a real port runs in real time, not at speed 2; run with --backend mock" in done.stderr
    code, _, error = in_process("check", SWARM, "--backend", "real", "--speed", "max", cwd=tmp_path)
    assert (code, error.count("not at speed max")) == (3, 2)
