"""npm's serialport with xbee-api on a mock of the module: another reading of its frames.

It runs where Node.js is installed and `.ci/run` could install both packages.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import NODE_MODULES
from tests.e2e.running import DEADLINE_S, ROOT, environment, start

CLIENT = ROOT / "tests" / "e2e" / "npm" / "client.js"
BROADCAST = "000000000000FFFF"
AT_RESPONSE, TX_STATUS = 0x88, 0x89


def test_a_module_answers_a_command_and_sends_a_packet(tmp_path: Path, firmware_mock: Any) -> None:
    """The packet has every byte that api mode 2 escapes."""
    module = firmware_mock("xbee", ni="rover")
    command = ("node", str(CLIENT), str(module.port), BROADCAST, "00ff7e117d13")
    given = environment(tmp_path, NODE_PATH=str(NODE_MODULES))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    node = start(tmp_path, *command, env=given, **pipes)
    frames = [json.loads(node.stdout.readline()) for _ in range(2)]
    node.communicate("end\n", timeout=DEADLINE_S)
    answer, status = sorted(frames, key=lambda frame: int(frame["id"]))
    assert (answer["type"], answer["command"], answer["commandStatus"]) == (AT_RESPONSE, "NI", 0)
    assert bytes(answer["commandData"]["data"]) == b"rover"
    assert (status["type"], status["deliveryStatus"]) == (TX_STATUS, 0)
