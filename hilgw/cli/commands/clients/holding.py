"""`hilgw arm ROBOT --hold` and `--for 60s`: armed while this command and its terminal live."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from hilgw.cli import streams
from hilgw.errors import HilgwError, SafetyError, UsageError, printable

if TYPE_CHECKING:
    from hilgw.client.holding import Ended, Holding

HELP = """--hold: armed while this command runs. It disarms on Ctrl-C, when it is killed, when its
terminal (or the pipe that is its input) ends, and when it does not run for 300 ms, as after Ctrl-Z.
--for 60s: the same, and for 60 s at most. A network that is lost silently, without a FIN or RST,
ends nothing here until sshd notices: after ClientAliveInterval times ClientAliveCountMax, which by
default is never. Set ClientAliveInterval 1 in sshd_config. Where several commands hold a robot, the
end of any disarms it.
exit codes: 0 --for is over, 130 Ctrl-C, 143 SIGTERM, 129 the terminal ended: each once the gateway
has confirmed the stop; 7 the gateway disarmed it, for the cause that is printed; 5 the stop is not
confirmed, or with --all the body of a robot was down, which is named: the others were armed."""
EXIT_BY_SIGNAL = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
LONGEST_S = 86_400.0


def run(
    robots: Sequence[str],
    limit_s: float | None,
    selected: dict[str, str | None],
    accept_positions: Sequence[str] = (),
) -> int:
    """Returns the exit code of a stop that is confirmed. Raises HilgwError for any other."""
    from hilgw.client import holding

    if limit_s is not None and not 0 < limit_s <= LONGEST_S:
        raise UsageError(f"--for {limit_s:g} s is out of range", fix="more than 0, up to 24 h")
    codes: list[int] = []
    with ExitStack() as stack:
        for name, code in EXIT_BY_SIGNAL.items():  # also one that nohup has ignored
            number = signal.Signals[name]
            before = signal.signal(number, lambda *_, code=code: codes.append(code))
            stack.callback(signal.signal, number, before)
        terminals = _terminals(stack)
        held = holding.take(robots, limit_s, **selected, accept_positions=accept_positions)
        for each in held:
            stack.callback(each.close)
        _show_start(held, limit_s)
        while True:
            hung_up = terminals.poll(holding.RENEW_S * 1000)
            if codes or hung_up:
                return _release(held, (codes or [EXIT_BY_SIGNAL["SIGHUP"]])[0], {})
            for each in held:
                if (end := each.renew()) is not None:
                    is_over = end.reason == "lease_over"
                    return _release(held, 0 if is_over else SafetyError.exit_code, {each: end})


def _terminals(stack: ExitStack) -> select.poll:
    """Finds the end of the input, and of the terminal that controls this process. A pipe that had
    ended before is none of them."""
    found, end = select.poll(), getattr(select, "POLLRDHUP", 0)
    found.register(0, end)
    if found.poll(0) and not os.isatty(0):
        found.unregister(0)
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        stack.callback(os.close, terminal)
        found.register(terminal, end)
    return found


def _show_start(held: Sequence[Holding], limit_s: float | None) -> None:
    at_most = "" if limit_s is None else f", for {limit_s:g} s at most"
    for each in held:
        for robot in each.robots:
            suffix = each.gateway.suffix()
            _show(f"{printable(robot)}: armed while this command runs{at_most}{suffix}")
        for robot, text in each.notes.items():
            _show(f"{printable(robot)}: {printable(text)}", error=True)
        for error in each.errors:
            _show(f"hilgw: {error}", error=True)
    _show("Ctrl-C disarms")


def _release(held: Sequence[Holding], code: int, ended: dict[Holding, Ended]) -> int:
    """Ends the leases that have not ended; reports what is confirmed, all other as an error."""
    errors = [error for each in held for error in each.errors]
    for each in held:
        try:
            end = ended.get(each) or each.end()
        except HilgwError as error:
            errors.append(error)
            continue
        assert end is not None  # a release ends it
        why = f": {end.text}" if each in ended else ""
        for robot in end.robots:
            _show(f"{printable(robot)}: disarmed{why}{each.gateway.suffix()}")
        errors += end.errors
    for failure in errors:
        _show(f"hilgw: {failure}", error=True)
    return errors[0].exit_code if errors else code


def _show(text: str, *, error: bool = False) -> None:
    """The terminal may be gone, and its output with it."""
    try:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
    except OSError:
        streams.discard_unwritten()
