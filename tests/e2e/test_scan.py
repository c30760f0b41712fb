"""`hilgw scan` on the mocks: kind, rate and network of a module."""

import json
from pathlib import Path

from tests.e2e.running import Gateway, in_process, run


def test_an_xbee_and_its_network_are_found_and_nothing_is_changed(tmp_path: Path) -> None:
    mock = ["mock", "xbee", "--link", "./a", "--link", "./b", "--set", "NT=5"]
    with Gateway(tmp_path, [*mock, "--set", "1.ni=kitchen"]):
        for _ in range(2):  # the second scan finds the module as the first one left it
            done = run("scan", "./a", "--json", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            (found,) = json.loads(done.stdout)
            assert (found["kind"], found["baudRate"], found["problem"]) == ("xbee", 9600, "")
            assert found["identity"].startswith("XBee 3 802.15.4 0013A200")
            assert [node["name"] for node in found["nodes"]] == ["kitchen"]


def test_a_lora_module_is_found_and_one_asleep_is_left_asleep(tmp_path: Path) -> None:
    mock = ["mock", "rylr998", "--link", "./a", "--link", "./b", "--set", "1.MODE=2,30,30"]
    with Gateway(tmp_path, [*mock, "--set", "NETWORKID=5"]):
        done = run("scan", "./a", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        assert (found["kind"], found["baudRate"], found["problem"]) == ("rylr998", 115200, "")
        assert "network 5" in found["identity"]
        for _ in range(2):
            done = run("scan", "./b", "--kind", "rylr998", cwd=tmp_path)
            assert "./b: rylr998 at 115200: the module sleeps, MODE = 2,30,30" in done.stdout


def test_modules_that_cannot_be_queried_are_reported(tmp_path: Path) -> None:
    code, _, error = in_process("scan", "./a", "--kind", "hc12", cwd=tmp_path)
    assert code == 2
    assert "hc12 cannot be identified without" in error


def test_no_module_is_5_and_no_port_is_4(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["mock", "uart_node", "--link", "./u"]):
        done = run("scan", "./u", "--kind", "rylr998", "--rate", "9600", cwd=tmp_path)
    assert done.returncode == 5, done.stdout + done.stderr
    done = run("scan", "./nothing", cwd=tmp_path)
    assert done.returncode == 4
    assert "./nothing" in done.stderr
