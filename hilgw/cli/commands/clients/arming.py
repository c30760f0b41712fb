"""`hilgw arm ROBOT...` lets the motors of robots move; `hilgw disarm ROBOT...` stops them."""

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from hilgw.cli import streams
from hilgw.cli.commands.clients import gateway_request
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration
from hilgw.errors import HilgwError, SafetyError, UsageError, printable

if TYPE_CHECKING:
    from hilgw.client.holding import Ended, Holding

_HOLD = """--hold: armed while this command runs. It disarms on Ctrl-C, when it is killed, when its
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
ROBOTS = (
    Option(
        "robots",
        metavar="ROBOT",
        nargs="*",
        help="a robot with a body or an external controller (repeatable)",
    ),
    Option("--all", action="store_true", help="all robots"),
    *gateway_request.SELECTION,
)


COMMANDS = {
    "arm": Command(
        description="Lets the motors of robots move, in the gateway that has them: of real robots "
        "at the start, and again after a latched safety stop. It refuses a name that several "
        "gateways have, and a real robot whose body is down (exit code 5; during a handshake it "
        "waits for 2 s); --all arms those that are up and names the others, and needs --config or "
        "--control where several gateways run.",
        epilog="examples: hilgw arm rover\n"
        "          hilgw arm rover --hold\n"
        "          hilgw arm rover --for 60s\n\n" + _HOLD,
        options=(
            Option("--hold", action="store_true", help="armed while this command runs"),
            Option(
                "--for",
                metavar="TIME",
                type=duration,
                help="as --hold, and for this time at most: 60s",
            ),
            Option(
                "--accept-positions",
                metavar="MOTOR",
                action="append",
                default=[],
                help="arm in spite of the lost zero of this motor: its position is right "
                "(repeatable)",
            ),
            *ROBOTS,
        ),
    ),
    "disarm": Command(
        description="Stops robots in all gateways that run on this machine; their motors do not "
        "move until `hilgw arm`. Controllers stay connected. A gateway that does not confirm the "
        "stop within 1 s is named, and so is a robot whose body is down; the exit code is 5.",
        epilog="example: hilgw disarm --all",
        options=ROBOTS,
    ),
}


def run_arm(args: argparse.Namespace) -> int:
    """Return 0 when the motors are enabled; or the result of `hold`, with --hold or --for.

    Raises HilgwError for an unknown name, PeerError for a robot whose body is down.
    """
    from hilgw.client.arming import arm_each

    limit_s: float | None = getattr(args, "for")
    if args.hold or limit_s is not None:
        return hold(_chosen(args), limit_s, gateway_request.selected(args), args.accept_positions)

    def show(robot: str, text: str) -> None:
        print(f"{printable(robot)}: {printable(text)}", file=sys.stderr)

    selected = gateway_request.selected(args)
    accepted: list[str] = args.accept_positions
    for robot, gateway in arm_each(
        _chosen(args), **selected, on_note=show, accept_positions=accepted
    ):
        print(f"{printable(robot)}: armed{gateway.suffix()}", flush=True)
    return 0


def run_disarm(args: argparse.Namespace) -> int:
    """Return 0 when the motors are stopped; 5 when a gateway did not confirm the stop.

    1 for an unknown name: the others are stopped then.
    """
    from hilgw.client.arming import disarm_each

    stopped = disarm_each(_chosen(args), **gateway_request.selected(args))
    for robot, gateway in stopped.robots:
        print(f"{printable(robot)}: disarmed{gateway.suffix()}")
    sys.stdout.flush()
    for error in stopped.errors:
        print(f"hilgw: {error}", file=sys.stderr)
    return stopped.error().exit_code if stopped.errors else 0


def _chosen(args: argparse.Namespace) -> list[str]:
    robots: list[str] = args.robots
    if bool(robots) == args.all:
        problem = "robots and --all" if robots else "no robot given"
        raise UsageError(problem, fix="name robots, or give --all")
    return robots


def hold(
    robots: Sequence[str],
    limit_s: float | None,
    selected: dict[str, str | None],
    accept_positions: Sequence[str] = (),
) -> int:
    """Hold the robots armed while this command and its terminal live, as --hold and --for do.

    Returns the exit code of a stop that is confirmed. Raises HilgwError for any other.
    """
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
        for lease in held:
            stack.callback(lease.close)
        _show_start(held, limit_s)
        while True:
            hung_up = terminals.poll(holding.RENEW_S * 1000)
            if codes or hung_up:
                return _release(held, (codes or [EXIT_BY_SIGNAL["SIGHUP"]])[0], {})
            for lease in held:
                if (end := lease.renew()) is not None:
                    is_over = end.reason == "lease_over"
                    return _release(held, 0 if is_over else SafetyError.exit_code, {lease: end})


def _terminals(stack: ExitStack) -> select.poll:
    """Return a poll that shows the end of the input and of the terminal that controls this process.

    An input pipe that has ended before is not watched.
    """
    poll, end = select.poll(), getattr(select, "POLLRDHUP", 0)
    poll.register(0, end)
    if poll.poll(0) and not os.isatty(0):
        poll.unregister(0)
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        stack.callback(os.close, terminal)
        poll.register(terminal, end)
    return poll


def _show_start(held: "Sequence[Holding]", limit_s: float | None) -> None:
    at_most = "" if limit_s is None else f", for {limit_s:g} s at most"
    for holding in held:
        for robot in holding.robots:
            suffix = holding.gateway.suffix()
            _show(f"{printable(robot)}: armed while this command runs{at_most}{suffix}")
        for robot, text in holding.notes.items():
            _show(f"{printable(robot)}: {printable(text)}", error=True)
        for error in holding.errors:
            _show(f"hilgw: {error}", error=True)
    _show("Ctrl-C disarms")


def _release(held: "Sequence[Holding]", code: int, ended: "dict[Holding, Ended]") -> int:
    """End the leases that have not ended; report what is confirmed, and the rest as errors."""
    errors = [error for each in held for error in each.errors]
    for holding in held:
        try:
            end = ended.get(holding) or holding.end()
        except HilgwError as error:
            errors.append(error)
            continue
        assert end is not None  # a release ends it
        why = f": {end.text}" if holding in ended else ""
        for robot in end.robots:
            _show(f"{printable(robot)}: disarmed{why}{holding.gateway.suffix()}")
        errors += end.errors
    for failure in errors:
        _show(f"hilgw: {failure}", error=True)
    return errors[0].exit_code if errors else code


def _show(text: str, *, error: bool = False) -> None:
    try:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
    except OSError:
        streams.discard_unwritten()
