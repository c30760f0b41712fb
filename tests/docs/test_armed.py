"""docs/config/safety.md, Armed: its commands work, in their order."""

import asyncio
import re
from pathlib import Path

from hilgw.assemble.gateway import build
from hilgw.cli.main import main
from hilgw.cli.parser import parse
from hilgw.client.arming import arm
from hilgw.config.load import load_config
from hilgw.config.model import armed
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import Observer

ROOT = Path(__file__).parents[2]


def test_the_commands_arm_and_disarm(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "config" / "safety.md").read_text(encoding="utf-8")
    section = page.split("## Armed")[1].split("\n## ")[0]
    start, *rest = re.findall(r"^    hilgw (.*)$", section, re.M)
    args = parse(start.split())
    assert args.arm and [each.split()[0] for each in rest] == ["arm", "arm", "disarm"]
    config = load_config(str(ROOT / args.config), []).config  # on its mock: it has to be up
    control = str(tmp_path / "control")

    async def run() -> None:
        gateway = build(armed(config), asyncio.get_running_loop(), Observer())
        state = gateway.control_loops["create"].safety.state
        assert state.armed
        state.disarm()
        server = ControlServer(gateway, control)
        await server.start()
        try:
            for command in rest:
                line = [*command.split(), "--control", control]
                assert await asyncio.to_thread(main, line) == 0
                assert state.armed is command.startswith("arm")
            (name,) = re.findall(r'hilgw\.client\.arming\.arm\("(\w+)"\)', section)
            await asyncio.to_thread(lambda: arm(name, control=control))
            assert state.armed
        finally:
            await server.close()
            gateway.close()

    asyncio.run(run())
