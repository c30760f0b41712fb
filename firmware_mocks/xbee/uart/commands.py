"""AT commands, from API frames, command mode or another module; and those to other modules."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from firmware_mocks.xbee.network.addressing import Addressing
from firmware_mocks.xbee.network.packets import Delivery, Outcome, Packet, Request
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.registers import BadCommand, BadValue, Register
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.serial_line import SerialLine

LINE = frozenset(("BD", "NB", "SB", "AP"))
NETWORK = frozenset(("CE", "ID", "II", "SC", "ZS", "EE", "EO", "KY", "NK"))
LOCAL_ONLY = frozenset(("ND", "DN", "CN", "AS"))
APPLY = 0x02  # option of a remote command
OUTSTANDING = 64  # remote commands whose answers are awaited


class Status(IntEnum):
    """AT response status (frames 88 and 97)."""

    OK = 0
    ERROR = 1
    BAD_COMMAND = 2
    BAD_PARAMETER = 3
    TX_FAILURE = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a command; ND gives several, all but one with last=False.

    value: as frames carry it. text: as command mode prints it, None for a plain OK. text_only: it
    has no frame.
    """

    status: int = Status.OK
    value: bytes = b""
    text: str | None = None
    last: bool = True
    text_only: bool = False


Reply = Callable[[Answer, int], None]
Search = Callable[[bytes, Reply, int], None]


def as_text(register: Register, value: int | bytes) -> str:
    """Return a value as command mode prints it: text as it is, numbers in hexadecimal."""
    if register.access == "w":
        return ""
    return value.decode("latin-1") if isinstance(value, bytes) else f"{value:X}"


class Commands:
    """Executes commands on one module.

    restart: FR. searches: the commands that are more than a register (ND, DN, IS ...). applied:
    called with the names of the registers that have changed, once they are in use.
    """

    def __init__(
        self,
        settings: Settings,
        line: SerialLine,
        addressing: Addressing,
        restart: Callable[[int], None],
        searches: Mapping[str, Search],
        applied: Callable[[frozenset[str], int], None],
    ) -> None:
        self._settings = settings
        self._applied = applied
        self._registers = settings.registers
        self._line = line
        self._addressing = addressing
        self._searches = searches
        self._actions: dict[str, Callable[[int], None]] = {
            "AC": self.apply,
            "CN": self.apply,
            "WR": lambda now: self._registers.save(),
            "RE": lambda now: self._registers.restore(),
            "FR": restart,
        }

    def run(
        self, name: str, value: bytes | None, reply: Reply, now: int, *, hold: bool = False
    ) -> None:
        """Run one command; `reply` gets at least one answer, now or later.

        Without a value it reads. With `hold`, a value that is set waits for AC.
        """
        if name in self._searches:
            self._searches[name](value or b"", reply, now)
        else:
            reply(self._answer(name, value, now, hold), now)

    def apply(self, now: int) -> None:
        """Use the values set so far."""
        changed = self._registers.apply()
        if changed:
            self._applied(changed, now)
        if changed & LINE:
            self._line.change()
        if changed & NETWORK:
            self._addressing.restart(now)
        elif "NJ" in changed:
            self._addressing.open_network(now)

    def _answer(self, name: str, value: bytes | None, now: int, hold: bool) -> Answer:
        action = self._actions.get(name)
        if action is not None:
            action(now)
            if name == "RE" and not hold:
                self.apply(now)
            return Answer()
        try:
            if value is None:
                return self._read(name)
            self._set(name, value, now, hold)
        except BadCommand:
            return Answer(Status.BAD_COMMAND)
        except BadValue:
            return Answer(Status.BAD_PARAMETER)
        return Answer()

    def _read(self, name: str) -> Answer:
        register = self._registers.register(name)
        value = self._reading(name)
        return Answer(value=register.encode(value), text=as_text(register, value))

    def _reading(self, name: str) -> int | bytes:
        if name == "NP":
            return self._addressing.longest()
        if name == "PP":
            return self._settings.power_dbm & 0xFF
        if name == "N?":
            return self._settings.number("NT") * 100
        return self._registers.held(name)

    def _set(self, name: str, value: bytes, now: int, hold: bool) -> None:
        stored = self._registers.register(name).parse(value)
        if name == "BD" and isinstance(stored, int):
            stored = self._settings.hardware.stored_rate(stored)
        self._registers.hold(name, stored)
        if not hold:
            self.apply(now)


# --- remote commands (frames 17 and 97) -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RemoteCommand:
    """A command for another module. value None reads."""

    token: int
    letters: bytes
    value: bytes | None
    apply: bool


@dataclass(frozen=True, slots=True)
class RemoteResponse:
    """The other module's answer."""

    token: int
    letters: bytes
    status: int
    value: bytes


class RemoteCommands:
    """Commands of the module to other modules, and theirs to it."""

    def __init__(
        self, settings: Settings, radio: Transceiver, line: SerialLine, commands: Commands
    ) -> None:
        self._settings = settings
        self._radio = radio
        self._line = line
        self._commands = commands
        self._token = 0
        self._frame_ids: OrderedDict[int, int] = OrderedDict()  # by token

    def restart(self) -> None:
        self._frame_ids.clear()

    def send(self, frame: bytes, now: int) -> None:
        frame_id, options, letters, value = frame[1], frame[12], frame[13:15], frame[15:]
        self._token += 1
        command = RemoteCommand(self._token, letters, value or None, bool(options & APPLY))
        request = Request(
            data=letters + value,
            destination64=int.from_bytes(frame[2:10], "big"),
            destination16=int.from_bytes(frame[10:12], "big"),
            options=options & 0x01,
            kind="command",
            body=command,
        )
        if frame_id:
            self._frame_ids[command.token] = frame_id
            if len(self._frame_ids) > OUTSTANDING:
                self._frame_ids.popitem(last=False)

        def done(outcome: Outcome, when: int) -> None:
            if outcome.status:
                failed = RemoteResponse(command.token, letters, Status.TX_FAILURE, b"")
                self._respond(frame[2:12], failed, when)

        if not self._settings.has_header:
            done(Outcome(Delivery.NO_ACK), now)
        elif refusal := self._radio.send(request, done, now):
            done(Outcome(refusal), now)

    def execute(self, packet: Packet, command: RemoteCommand, now: int) -> None:
        """Run a command from another module and send the answer."""

        def reply(answer: Answer, when: int) -> None:
            if answer.text_only:
                return
            response = RemoteResponse(command.token, command.letters, answer.status, answer.value)
            data = command.letters + answer.value
            back = Request(data, packet.source64, kind="response", body=response)
            if self._radio.send(back, sent, when):
                apply(when)

        def sent(outcome: Outcome, when: int) -> None:
            apply(when)

        def apply(when: int) -> None:
            # Only now: the answer to a new channel goes out on the old one.
            if command.apply or name == "AC":
                self._commands.apply(when)
            self._line.settle(when)

        name = command.letters.upper().decode("latin-1")
        if name in LOCAL_ONLY:
            reply(Answer(Status.ERROR), now)
        elif name == "AC":
            reply(Answer(), now)
        else:
            self._commands.run(name, command.value, reply, now, hold=True)

    def receive(self, packet: Packet, response: RemoteResponse, now: int) -> None:
        source = packet.source64.to_bytes(8, "big") + packet.source16.to_bytes(2, "big")
        self._respond(source, response, now)

    def _respond(self, source: bytes, response: RemoteResponse, now: int) -> None:
        # Frame 97 to the client.
        frame_id = self._frame_ids.get(response.token)
        if frame_id is not None and self._line.api_mode:
            head = bytes((0x97, frame_id)) + source + response.letters + bytes((response.status,))
            self._line.send_answer(head + response.value, now)
