"""Arming and disarming of robots of running gateways, as by `hilgw arm` and `hilgw disarm`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hilgw.client.control_paths import control_sockets, none_found
from hilgw.client.control_socket import ASK_ALL_S, find_gateway, in_parallel, is_named, label
from hilgw.client.gateway import (
    ANSWER_S,
    NOT_CONFIRMED,
    Answer,
    Gateway,
    confirmed_by,
    gateways_with,
    joined,
    not_armed,
    not_confirmed,
    not_sent,
    stop_answer,
)
from hilgw.errors import HilgwError, PeerError, quoted
from hilgw.protocols.gateway import requests

__all__ = ["NOT_CONFIRMED", "arm", "disarm"]


def arm(
    *robots: str,
    control: str | None = None,
    config: str | None = None,
    on_note: Callable[[str, str], None] | None = None,
    accept_positions: Sequence[str] = (),
) -> list[str]:
    """Let the motors of these robots move; without a name, of all.

    Args:
        *robots: The names of the robots.
        control: The path of the control socket; None: that of the only running gateway, of the one
            that runs `config`, or of those that have these robots.
        config: The configuration that the gateway runs.
        on_note: Called with a robot and why it cannot move yet though it is armed, such as that no
            controller runs.
        accept_positions: Motors whose position counts, though their zero was lost.

    Returns:
        The names of the robots.

    Raises:
        HilgwError: a robot is unknown, or several gateways have it; then none is armed.
        UsageError: all robots of several gateways; then none is armed.
        PeerError: a gateway does not answer, or the real body of a robot is down; then none is
            armed. Or the bodies of some of all robots are down; then the others are armed.
    """
    return [robot for robot, _ in arm_each(robots, control, config, on_note, accept_positions)]


def arm_each(
    robots: Sequence[str],
    control: str | None,
    config: str | None,
    on_note: Callable[[str, str], None] | None = None,
    accept_positions: Sequence[str] = (),
) -> Iterator[tuple[str, Gateway]]:
    """Arm as `arm` does; yield each robot with its gateway when it is armed."""
    down: list[HilgwError] = []
    for gateway, names in chosen_gateways(robots, control, config).items():
        answer = gateway.arm(*names, accept_positions=accept_positions)
        for robot in answer.robots:
            yield robot, gateway
        for robot, text in answer.notes.items():
            if on_note is not None:
                on_note(robot, text)
        down += not_armed(answer, gateway)
    if down:
        raise down[0]


def chosen_gateways(
    robots: Sequence[str], control: str | None, config: str | None
) -> dict[Gateway, list[str]]:
    """Return the gateways of these robots, each with its robots; none: all of one gateway."""
    if robots:
        return gateways_with("robot", robots, control, config)
    return {Gateway(find_gateway(control, config)): []}


def disarm(*robots: str, control: str | None = None, config: str | None = None) -> list[str]:
    """Stop these robots, or all; their motors do not move until `arm`.

    All running gateways of this user, whichever shell started them, are asked at the same time, and
    each stops those of these robots that it has. `control` and `config` select one gateway, as in
    `arm`.

    Returns:
        The names of the robots.

    Raises:
        HilgwError: no gateway has a robot; the others were stopped.
        PeerError: a gateway did not confirm the stop, or could not send it as the body is down; the
            others were stopped.
    """
    stopped = disarm_each(robots, control, config)
    if stopped.errors:
        raise stopped.error()
    return list(dict.fromkeys(robot for robot, _ in stopped.robots))


@dataclass(slots=True)
class Disarmed:
    """The result of a stop.

    robots: the robots that a gateway confirmed, each with this gateway. errors: of the others.
    """

    robots: list[tuple[str, Gateway]] = field(default_factory=list)
    errors: list[HilgwError] = field(default_factory=list)

    def error(self) -> HilgwError:
        """Return all errors in one; a stop that was not confirmed decides its class."""
        first = next((each for each in self.errors if isinstance(each, PeerError)), self.errors[0])
        if len(self.errors) == 1:
            return first
        return type(first)("; ".join(map(str, self.errors)))


def disarm_each(robots: Sequence[str], control: str | None, config: str | None) -> Disarmed:
    """Disarm as `disarm` does; return the answers of all gateways.

    The request is the first message to each.
    """
    robots = list(dict.fromkeys(robots))
    request = requests.Disarm(robots, not robots)
    if control is not None:
        path = Path(control)
        return _judge(robots, {path: stop_answer(path, request, ANSWER_S)})
    problems: list[HilgwError] = []  # of one folder: the gateways in others are stopped
    paths = control_sockets(on_problem=problems.append)
    answers = in_parallel(lambda path: _answer_of_config(path, request, config), paths)
    if not paths and problems:
        return Disarmed(errors=problems)
    done = _judge(robots, _concerned(dict(zip(paths, answers, strict=True)), config))
    done.errors += problems
    return done


def _answer_of_config(path: Path, request: requests.Disarm, config: str | None) -> Answer | None:
    """Return the answer of a gateway; None if it runs another configuration: it is not disarmed."""
    if config is not None:
        known = stop_answer(path, requests.Identify(), ASK_ALL_S)
        if isinstance(known, PeerError):
            return known
        if not is_named(str(known.get("config", "")), config):
            return None
    return stop_answer(path, request, ASK_ALL_S)


def _concerned(answers: dict[Path, Answer | None], config: str | None) -> dict[Path, Answer]:
    """Return the answers of gateways with this configuration.

    Sockets that a gateway removed in the meantime, as at its orderly end, are left out.

    Raises:
        PeerError: none is left.
    """
    given = {path: answer for path, answer in answers.items() if answer is not None}
    silent = {path: answer for path, answer in given.items() if isinstance(answer, PeerError)}
    if config is not None and len(silent) < len(given):
        gone = set(silent)  # the configuration was found
    else:
        gone = {path for path in silent if not path.exists()}
    if gone == given.keys():
        find_gateway(None, config, everywhere=True)  # its error
        raise none_found(everywhere=True)
    return {path: answer for path, answer in given.items() if path not in gone}


def _judge(robots: Sequence[str], answers: dict[Path, Answer]) -> Disarmed:
    done, fixes, answered = Disarmed(), [], 0
    for path, answer in answers.items():
        confirmed = confirmed_by(answer)
        if isinstance(answer, PeerError) or confirmed is None:
            done.errors.append(not_confirmed(path, answer))
            continue
        answered += 1
        named = label(path, answer.get("config"))
        gateway = Gateway(path, named if len(answers) > 1 else "")
        done.robots += [(name, gateway) for name in confirmed if not robots or name in robots]
        done.errors += not_sent(answer, gateway)
        if fix := answer.get("fix"):
            fixes.append(f"{named}: {fix}" if gateway.label else str(fix))
    silent = len(answers) - answered
    if not answered:
        return done  # whether they know a name is not known
    where = "in the gateways that answered" if silent else "here"
    known = {robot for robot, _ in done.robots}
    for robot in robots:
        if robot not in known:
            problem = f"no robot {quoted(robot)} with a control loop {where}"
            done.errors.append(HilgwError(problem, fix=joined(fixes)))
    if not robots and not known and not silent:
        done.errors.append(HilgwError("no robot with a control loop here"))
    return done
