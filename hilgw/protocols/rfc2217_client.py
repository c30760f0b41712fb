"""The client's end of telnet with the COM port option (RFC 2217): bytes in, events out.

Servers round rates, and omit answers: ser2net 4.6 gives none to PURGE-DATA. So only the settings
that give the bytes a meaning must be answered, a rate may differ by 2 %, and the rest is a notice.
"""

from collections.abc import Mapping

from hilgw.protocols.rfc2217 import (
    ANSWER,
    BINARY,
    COM_PORT,
    NOTIFY_MODEMSTATE,
    OPTIONS_OF_CLIENT,
    OPTIONS_OF_SERVER,
    PURGE_DATA,
    SET_BAUDRATE,
    SUPPRESS_GO_AHEAD,
    Event,
    Reply,
    Telnet,
    Value,
    command_of,
    setting_of,
    subnegotiation,
)

RATE_SHARE = 50  # a UART works at a rate that differs by 1/50
PURGE = "purge"
_NEEDED = {
    "baud_rate": "SET-BAUDRATE",
    "data_bits": "SET-DATASIZE",
    "parity": "SET-PARITY",
    "stop_bits": "SET-STOPSIZE",
}
_WORDS = {
    "baud_rate": "{} baud",
    "data_bits": "{} data bits",
    "parity": "parity {}",
    "stop_bits": "{} stop bits",
    "flow": "flow control {}",
}


class Client(Telnet):
    """A connection, which requests the option and then sends its settings by itself.

    wanted: name -> value as in `hilgw.protocols.rfc2217.Setting`. ign_set_control: no answer to
    SET-CONTROL is expected, as with this option of pyserial's URLs. present: the values that the
    server has in effect, as far as it has answered. modem: its last NOTIFY-MODEMSTATE; None: none
    came since this was set to None.
    """

    ours, theirs = OPTIONS_OF_CLIENT, OPTIONS_OF_SERVER
    asks = ((True, BINARY), (False, BINARY), (False, SUPPRESS_GO_AHEAD), (True, COM_PORT))

    def __init__(self, wanted: Mapping[str, Value], *, ign_set_control: bool = False) -> None:
        super().__init__()
        self.present: dict[str, Value] = {}
        self.modem: int | None = None
        self._wanted = dict(wanted)
        self._expected = {PURGE, *(wanted.keys() & _NEEDED.keys() if ign_set_control else wanted)}

    @property
    def is_refused(self) -> bool:
        """True if the server has refused the option: it is telnet without RFC 2217."""
        return self.negotiated and not self.agreed and (True, COM_PORT) not in self._asked

    @property
    def is_set(self) -> bool:
        """True if all necessary answers arrived."""
        return self.present.keys() >= _NEEDED.keys()

    @property
    def is_complete(self) -> bool:
        """True if all expected answers arrived."""
        return self.present.keys() >= self._expected

    # --- to the server ----------------------------------------------------------------------------

    def _agreement(self) -> list[Event]:
        """Send the settings; first those that need no answer, and a purge of both directions."""
        others = [name for name in self._wanted if name not in _NEEDED]
        commands = [command_of(name, self._wanted[name]) for name in (*others, *_NEEDED)]
        purge = subnegotiation(PURGE_DATA, b"\x03")
        return [*super()._agreement(), Reply(b"".join((purge, *commands)))]

    def ask_modem_state(self) -> bytes:
        """Return the question for the inputs; `modem` has the answer later."""
        self.modem = None
        return subnegotiation(NOTIFY_MODEMSTATE, b"")

    # --- from the server --------------------------------------------------------------------------

    def _command(self, command: int, value: bytes) -> list[Event] | None:
        command -= ANSWER
        if command == SET_BAUDRATE and len(value) == 4:
            self.present["baud_rate"] = int.from_bytes(value, "big")
        elif command == NOTIFY_MODEMSTATE and len(value) == 1:
            self.modem = value[0]
        elif command == PURGE_DATA:
            self.present[PURGE] = True
        elif len(value) == 1:
            setting = setting_of(command, value[0])
            if setting is not None and setting.value is not None:
                self.present[setting.name] = setting.value
        return []  # the others (signature, line state, suspend) change nothing here

    # --- what became of it ------------------------------------------------------------------------

    def problem(self) -> str:
        """Return why the port cannot be used with the answers so far; "" if it can be used."""
        if not self.negotiated:
            return "no telnet answers here"
        if not self.agreed:
            return "telnet without RFC 2217 answers here, which cannot set the line"
        for name, command in _NEEDED.items():
            if name not in self.present:
                return f"the server does not answer {command}"
            if not self._is_near(name):
                return f"the server has {self._difference(name)}"
        return ""

    def notices(self) -> list[str]:
        """Return the remarks for the user on a port that can be used."""
        missing = self._expected - self.present.keys()
        words = sorted({"PURGE-DATA" if name == PURGE else "SET-CONTROL" for name in missing})
        others = [
            name
            for name, wanted in self._wanted.items()
            if name in _WORDS and self.present.get(name, wanted) != wanted
        ]
        return [f"the server has {self._difference(name)}" for name in others] + (
            [f"the server does not answer {' and '.join(words)}; hilgw continues"] if words else []
        )

    def _is_near(self, name: str) -> bool:
        present, wanted = self.present[name], self._wanted[name]
        if name != "baud_rate":
            return present == wanted
        return abs(int(present) - int(wanted)) * RATE_SHARE <= int(wanted)

    def _difference(self, name: str) -> str:
        present, wanted = map(_WORDS[name].format, (self.present[name], self._wanted[name]))
        return f"{present} in place of {wanted}"
