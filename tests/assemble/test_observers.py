"""Who observes a gateway later gets what its parts report later."""

import asyncio

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.observer import Observer

CONFIG = """
version: 1
robots:
  rover:
    devices:
      tx: {node: Emitter, channel: 3, allowedChannels: [3]}
      rx: {node: Receiver, channel: 3, allowedChannels: [3]}
    controller: {kind: beacon, emitter: tx, receiver: rx}
"""


class Notices(Observer):
    def __init__(self) -> None:
        self.sources: list[str] = []

    def notice(self, source: str, text: str) -> None:
        self.sources.append(source)


async def test_notices_of_radios_reach_those_who_observe_then() -> None:
    first, second = Notices(), Notices()
    gateway = build(load_text(CONFIG, "f").config, asyncio.get_running_loop(), first)
    robot = gateway.robots["rover"]
    gateway.observer.remove(first)
    gateway.observer.add(second)
    robot.emitters["tx"].setChannel(4)
    robot.receivers["rx"].setChannel(4)
    gateway.close()
    assert (first.sources, second.sources) == ([], ["rover.tx", "rover.rx"])
