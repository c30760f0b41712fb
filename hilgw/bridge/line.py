"""The line of a bridge's port while clients set it: rate, format, flow control, modem lines."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hilgw.errors import PortError
from hilgw.transports.base import LineSettings, ModemState, Scheduler, Transport, Wakeup

MODEM_PERIOD_NS = 100_000_000
BREAK_NS = 250_000_000  # the usual length of a break
# The configured line is set again when the driver has been empty for two looks, or at the latest
# after this time.
RESTORE_LOOK_NS = 100_000_000
RESTORE_NS = 5_000_000_000
HIGHEST_BAUD_RATE = (1 << 31) - 1

Value = int | str | bool
_FIELDS = {
    "baud_rate": "baudRate",
    "data_bits": "data_bits",
    "stop_bits": "stop_bits",
    "parity": "parity",
}
NO_LINES = ModemState(cts=True, dsr=True, ri=False, cd=True)  # a port without them is always ready
PORT_DOWN = ModemState(cts=False, dsr=False, ri=False, cd=False)


class PortLine:
    """The present line of the port.

    on_line: called with each new line; notify: warns the user. The settings of a client apply until
    it leaves and its bytes are sent; then the configured line applies again. Without an open port,
    settings are kept until it opens. A port without modem lines keeps the clients' settings,
    without effect, and is always ready. modem_state: the inputs as they were read last.
    """

    def __init__(
        self,
        configured: LineSettings,
        scheduler: Scheduler,
        *,
        on_line: Callable[[LineSettings], None],
        waiting_bytes: Callable[[], int],
        notify: Callable[[str], None],
    ) -> None:
        self.current = configured
        self._configured = configured
        self._scheduler = scheduler
        self._on_line = on_line
        self._waiting_bytes = waiting_bytes
        self._notify = notify
        self._switches = {"dtr": True, "rts": True, "break": False}
        self._owner: object = None  # who set the line, and who the break
        self._break_owner: object = None
        self._transport: Transport | None = None
        self._notified: set[str] = set()
        self._listeners: list[Callable[[ModemState], None]] = []
        self._look = Wakeup(scheduler, lambda _: self._look_at_modem_lines())
        self._restore_look = Wakeup(scheduler, lambda _: self._restore())
        self._restore_ns = self._empty_looks = 0  # the latest time, and how often it was empty
        self.modem_state = PORT_DOWN

    # --- the port ---------------------------------------------------------------------------------

    def attach(self, transport: Transport) -> None:
        self._transport = transport
        self._switches["break"] = False
        if self.current != self._configured:
            wanted, self.current = self.current, self._configured
            self._apply(wanted)
        self.read_modem_lines()

    def detach(self) -> None:
        self._transport = None
        self.read_modem_lines()

    # --- settings, named as in `hilgw.protocols.rfc2217.Setting` ----------------------------------

    def get(self, name: str) -> Value:
        """Return the present value of a setting."""
        if name in _FIELDS:
            value: Value = getattr(self.current, _FIELDS[name])
            return value
        if name in self._switches:
            return self._switches[name]
        return "rtscts" if self.current.rtscts else "none"

    def set(self, name: str, value: Value, client: object) -> Value:
        """Set a value; return the present one, which is the old one if the port refused."""
        if name in self._switches:
            self._switch(name, bool(value), client)
        elif name in _FIELDS:
            if name != "baud_rate" or 0 < int(value) <= HIGHEST_BAUD_RATE:
                field: dict[str, Any] = {_FIELDS[name]: value}
                self._change(replace(self.current, **field), client)
        elif name == "flow" and value in ("none", "rtscts"):
            self._change(replace(self.current, rtscts=value == "rtscts"), client)
        return self.get(name)

    def send_break(self, client: object) -> None:
        """Send a break of the usual length."""
        self._switch("break", True, client)
        self._scheduler.call_at(
            self._scheduler.now() + BREAK_NS, lambda: self._switch("break", False, client)
        )

    def purge(self, *, received: bool, to_send: bool) -> int:
        """Discard the bytes in the driver; return how many of them were to be sent."""
        try:
            if self._transport is not None:
                return self._transport.purge(received=received, to_send=to_send)
        except PortError as error:
            self._notify_once(error.what)
        return 0

    def release(self, client: object) -> None:
        """End the break of a client that has left, and restore the configured line soon."""
        if self._break_owner is client:
            self._switch("break", False, client)
        if self._owner is client and self.current != self._configured:
            self._restore_ns, self._empty_looks = self._scheduler.now() + RESTORE_NS, 0
            self._restore()

    def _change(self, line: LineSettings, client: object) -> None:
        self._restore_look.set(None)
        self._owner = client
        if line != self.current:
            self._apply(line)

    def _apply(self, line: LineSettings) -> None:
        transport = self._transport
        if transport is not None:
            known = len(transport.notices)
            try:
                transport.set_line(line)
            except PortError as error:
                self._notify_once(error.what)
                return
            for notice in transport.notices[known:]:
                self._notify_once(notice)
        self.current = line
        self._on_line(line)

    def _switch(self, name: str, on: bool, client: object) -> None:
        try:
            if self._transport is not None and name == "break":
                self._transport.set_break(on)
            elif self._transport is not None:
                self._transport.set_modem_line(name, on)
        except PortError as error:
            self._notify_once(f"{error.what}; clients set it without effect")
        self._switches[name] = on
        if name == "break":
            self._break_owner = client if on else None

    def _notify_once(self, text: str) -> None:
        if text not in self._notified:
            self._notified.add(text)
            self._notify(text)

    # --- back to the configured line --------------------------------------------------------------

    def _restore(self) -> None:
        now = self._scheduler.now()
        driver = self._transport is not None and self._transport.out_waiting > 0
        self._empty_looks = 0 if driver or self._waiting_bytes() else self._empty_looks + 1
        if self._empty_looks > 2 or now >= self._restore_ns:
            self._restore_look.set(None)
            self._owner = None
            self._apply(self._configured)
        else:
            self._restore_look.set(now + RESTORE_LOOK_NS)

    # --- modem lines ------------------------------------------------------------------------------

    def listen(self, listener: Callable[[ModemState], None]) -> None:
        """Call `listener` when an input changes; the inputs are read while there are listeners."""
        self._listeners.append(listener)
        if len(self._listeners) == 1:
            self._look_at_modem_lines()

    def unlisten(self, listener: Callable[[ModemState], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _look_at_modem_lines(self) -> None:
        if self._listeners:
            self.read_modem_lines()
            self._look.set(self._scheduler.now() + MODEM_PERIOD_NS)

    def read_modem_lines(self) -> None:
        """Read the inputs now."""
        before, self.modem_state = self.modem_state, self._read_inputs()
        if self.modem_state != before:
            for listener in list(self._listeners):
                listener(self.modem_state)

    def _read_inputs(self) -> ModemState:
        if self._transport is None:
            return PORT_DOWN
        try:
            return self._transport.modem_state()
        except PortError:
            return NO_LINES
