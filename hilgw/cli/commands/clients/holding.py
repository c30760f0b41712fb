"""`hilgw arm ROBOT --hold` and `--for 60s`: armed while this command and its terminal live."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from hilgw.cli import streams
from hilgw.errors import HilgwError, PeerError, SafetyError, UsageError, printable

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
confirmed."""
EXIT_BY_SIGNAL = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGQUIT": 131}
TERMINAL_CODE = 129
LONGEST_S = 86_400.0


def run(robots: Sequence[str], limit_s: float | None, selected: dict[str, str | None]) -> int:
    """Returns the exit code of a stop that is confirmed. Raises HilgwError for any other."""
    from hilgw.client import holding

    if limit_s is not None and not 0 < limit_s <= LONGEST_S:
        raise UsageError(f"--for {limit_s:g} s is out of range", fix="more than 0, up to 24 h")
    with ExitStack() as stack:
        wake = stack.enter_context(_signals())
        terminals = stack.enter_context(_terminals())
        held = holding.take(robots, limit_s, **selected)
        for each in held:
            stack.callback(each.close)
        _show_start(held, limit_s)
        ended = holding.renew_until(held, wake, terminals)
        if isinstance(ended, int):
            code = _code(wake) if ended == wake else TERMINAL_CODE
            return _release(held, code, {})
        first, end = ended
        code = {"lease_over": 0}.get(end.reason, SafetyError.exit_code)
        return _release(held, code, {first: end})


def _show_start(held: Sequence[Holding], limit_s: float | None) -> None:
    at_most = "" if limit_s is None else f", for {limit_s:g} s at most"
    for each in held:
        for robot in each.robots:
            suffix = each.gateway.suffix()
            _show(f"{printable(robot)}: armed while this command runs{at_most}{suffix}")
        for robot, text in each.notes.items():
            _show(f"{printable(robot)}: {printable(text)}", error=True)
    _show("Ctrl-C disarms")


def _release(held: Sequence[Holding], code: int, ended: dict[Holding, Ended]) -> int:
    """Ends the leases that have not ended; reports what is confirmed, all other as an error."""
    errors: list[HilgwError] = []
    for each in held:
        try:
            end = ended.get(each) or each.release()
        except HilgwError as error:
            errors.append(error)
            continue
        why = f": {end.text}" if each in ended else ""
        for robot in end.robots:
            if text := end.not_sent.get(robot):
                where, fix = printable(robot) + each.gateway.suffix(), "stop it by hand if it moves"
                errors.append(PeerError(printable(text), where=where, fix=fix))
            else:
                _show(f"{printable(robot)}: disarmed{why}{each.gateway.suffix()}")
    for failure in errors:
        _show(f"hilgw: {failure}", error=True)
    return errors[0].exit_code if errors else code


def _show(text: str, *, error: bool = False) -> None:
    """The terminal may be gone, and its output with it."""
    try:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
    except OSError:
        streams.discard_unwritten()


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor from which the number of each signal can be read, also of those that nohup has
    ignored."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    numbers = [getattr(signal, name) for name in EXIT_BY_SIGNAL if hasattr(signal, name)]
    handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield reading
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _code(wake: int) -> int:
    name = signal.Signals(os.read(wake, 1)[0]).name
    return EXIT_BY_SIGNAL.get(name, 1)


@contextmanager
def _terminals() -> Iterator[list[int]]:
    """The input, and the terminal that controls this process. A pipe that had ended before is none
    of them."""
    found, opened = [], []
    poller = select.poll()
    poller.register(0, getattr(select, "POLLRDHUP", 0))
    if os.isatty(0) or not poller.poll(0):
        found.append(0)
    with suppress(OSError):
        opened.append(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    try:
        yield [*found, *opened]
    finally:
        for descriptor in opened:
            os.close(descriptor)
