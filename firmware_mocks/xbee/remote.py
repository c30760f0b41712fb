"""Remote AT commands (frames 17 and 97): the asking and the answering side."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.commands import LOCAL_ONLY, Answer
from firmware_mocks.xbee.packets import Outcome, Packet, Request

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

COMMAND = "command"
RESPONSE = "response"
APPLY = 0x02
OUTSTANDING = 64


@dataclass(frozen=True, slots=True)
class Query:
    """A command for another module. value None reads."""

    token: int
    letters: bytes
    value: bytes | None
    apply: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What the command gave there."""

    token: int
    letters: bytes
    status: int
    value: bytes


class Remote:
    """One module's commands to others, and others' to it."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._token = 0
        self._asked: OrderedDict[int, int] = OrderedDict()  # token -> frame id

    def restart(self) -> None:
        self._asked.clear()

    def ask(self, frame: bytes, now: int) -> None:
        """A frame 17 from the client."""
        frame_id, options, letters, value = frame[1], frame[12], frame[13:15], frame[15:]
        self._token += 1
        query = Query(self._token, letters, value or None, bool(options & APPLY))
        request = Request(
            data=letters + value,
            destination64=int.from_bytes(frame[2:10], "big"),
            destination16=int.from_bytes(frame[10:12], "big"),
            options=options & 0x01,
            kind=COMMAND,
            body=query,
        )
        if frame_id:
            self._asked[query.token] = frame_id
            if len(self._asked) > OUTSTANDING:
                self._asked.popitem(last=False)

        def done(outcome: Outcome, when: int) -> None:
            if outcome.status:
                self._respond(query.token, frame[2:12], letters, status.TX_FAILURE, b"", when)

        if not self.module.has_header:
            done(Outcome(status.NO_ACK), now)
        elif refusal := self.module.send(request, done, now):
            done(Outcome(refusal), now)

    def asked(self, packet: Packet, query: Query, now: int) -> None:
        """Another module's command: do it and say how it went."""

        def reply(answer: Answer, when: int) -> None:
            result = Result(query.token, query.letters, answer.status, answer.value)
            data = query.letters + answer.value
            back = Request(data, packet.source64, kind=RESPONSE, body=result)
            if self.module.send(back, applied, when):
                apply(when)

        def applied(outcome: Outcome, when: int) -> None:
            apply(when)

        def apply(when: int) -> None:
            # Only now: the answer to a new channel goes out on the old one.
            if query.apply or name == "AC":
                self.module.apply(when)
            self.module.serial.settle(when)

        name = query.letters.upper().decode("latin-1")
        if name in LOCAL_ONLY:
            reply(Answer(status.ERROR), now)
        elif name == "AC":
            reply(Answer(), now)
        else:
            self.module.commands.run(name, query.value, reply, now, hold=True)

    def answered(self, packet: Packet, result: Result, now: int) -> None:
        """The other module answered. A broadcast command is answered by several."""
        source = packet.source64.to_bytes(8, "big") + packet.source16.to_bytes(2, "big")
        self._respond(result.token, source, result.letters, result.status, result.value, now)

    def _respond(
        self, token: int, source: bytes, letters: bytes, code: int, value: bytes, now: int
    ) -> None:
        frame_id = self._asked.get(token)
        if frame_id is not None and self.module.serial.api_mode:
            head = bytes((0x97, frame_id)) + source + letters + bytes((code,))
            self.module.serial.answer(head + value, now)
