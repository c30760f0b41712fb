"""A whole gateway on a fake clock, and controllers in it that act by a script."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.controllers.base import Action, PacketQueue, Send
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.testing.sim import Clock

MS = 1_000_000


class Auditor(Observer):
    """Notes what happens, and looks at the ledger whenever something does."""

    def __init__(self) -> None:
        self.gateway: Gateway | None = None
        self.sent: list[Packet] = []
        self.notices: list[tuple[str, str]] = []
        self.wrong: list[str] = []

    def look(self) -> None:
        if self.gateway is not None:
            self.wrong += self.gateway.ledger.violations()

    def transmitted(
        self, packet: Packet, listeners: Any, not_received: Any, missed: Missed
    ) -> None:
        self.sent.append(packet)
        self.look()

    def delivered(self, station: str, copy: Copy) -> None:
        self.look()

    def refused(self, station: str, reason: str, text: str) -> None:
        self.look()

    def notice(self, source: str, text: str) -> None:
        self.notices.append((source, text))


class SteppedGateway:
    """A gateway of these robots. `at` moves the clock: nanoseconds from the start."""

    def __init__(
        self,
        step_ms: int | None,
        robots: Mapping[str, Mapping[str, Any]],
        late_ns: int = 0,
        adapters: Mapping[str, Any] | None = None,
    ) -> None:
        data = {"version": 1, "medium": {"step_ms": step_ms}, "robots": robots}
        text = json.dumps({**data, "adapters": adapters or {}})
        config = load_text(text, "f").config
        self.timer = Clock()
        self.start = self.timer.now()
        self.late_ns = late_ns
        self.auditor = Auditor()

        async def main() -> Gateway:
            loop = asyncio.get_running_loop()
            return build(config, loop, self.auditor, timer=self.timer)

        self.gateway = self.auditor.gateway = asyncio.run(main())

    def begin(self) -> None:
        for robot in self.gateway.robots.values():
            robot.start()

    def at(self, after_ns: int) -> None:
        self.timer.run_until(self.start + after_ns, self.late_ns)
        self.auditor.look()

    def settle(self) -> None:
        """Runs what is due by now, without further delay."""
        self.timer.run_until(self.timer.now())

    def now(self) -> int:
        return self.timer.now() - self.start

    def close(self) -> None:
        """As at the end of a run: what is queued expires, and the ledger adds up."""
        for robot in self.gateway.robots.values():
            robot.close()
        self.auditor.look()
        assert self.auditor.wrong == []


Call = tuple[Any, ...]  # a word and its arguments


class Script:
    """A controller that makes these calls, (when, word, arguments...) each, one after the other,
    and notes when it made each and what it gave back."""

    def __init__(self, running: SteppedGateway, robot: str, calls: Iterable[Call]) -> None:
        self._running = running
        self._robot = running.gateway.robots[robot]
        self._calls = list(calls)
        self._receivers: Mapping[str, PacketQueue] = {}
        self.made: list[tuple[int, Call, Any]] = []
        self._robot.session = self

    def start(self, now: int, receivers: Mapping[str, PacketQueue]) -> list[Action]:
        self._receivers = receivers
        return []

    def readable(self, receiver: str, now: int) -> list[Action]:
        return []  # it reads when it wants to

    def sent(self, accepted: bool) -> None:
        when, call, _ = self.made[-1]
        self.made[-1] = (when, call, accepted)

    def next_deadline(self) -> int | None:
        return self._running.start + self._calls[0][0] if self._calls else None

    def expire(self, now: int) -> list[Action]:
        _, word, *given = self._calls.pop(0)
        call, when = (word, *given), now - self._running.start
        if word == "send":
            self.made.append((when, call, None))
            return [Send("tx", given[0])]
        self.made.append((when, call, self._do(word, *given)))
        return []

    def summary(self) -> str:
        return ""

    def _do(self, word: str, *given: Any) -> Any:
        emitter, receiver = self._robot.emitters["tx"], self._robot.receivers["rx"]
        match word:
            case "emitter_channel":
                return (emitter.setChannel(*given), emitter.emitter.getChannel())
            case "range":
                return (emitter.setRange(*given), emitter.emitter.range)
            case "receiver_channel":
                return (receiver.setChannel(*given), receiver.receiver.getChannel())
            case "enable":
                return (receiver.enable(*given), receiver.receiver.getSamplingPeriod())
            case "length":
                return self._receivers["rx"].queue_length()
            case "read":
                copy = self._receivers["rx"].next_packet()
                return None if copy is None else (copy.packet.data, copy.signal_strength)
        raise AssertionError(word)
