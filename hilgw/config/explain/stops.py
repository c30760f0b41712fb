"""What stops the motors of a robot, in the words of an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hilgw.config.explain.facts import BodyFacts, ControllerFacts, StopRule
from hilgw.control.events import StopReason
from hilgw.units import ns_to_s

FREEZE = "the controller freezes: no valid message while a motor moves"


def stops_of(
    robot: str, controller: ControllerFacts | None, bodies: Sequence[BodyFacts]
) -> tuple[StopRule, ...]:
    """Every cause that stops the motors of this robot; none where nothing moves them."""
    if not bodies or controller is None or not controller.moves:
        return ()
    return (
        *_of_controller(controller, bodies),
        *_of_gateway(robot, bodies),
        *_of_bodies(bodies),
    )


def _of_controller(controller: ControllerFacts, bodies: Sequence[BodyFacts]) -> Iterator[StopRule]:
    yield _rule(
        "the controller ends, disconnects, or sends invalid data",
        StopReason.DISCONNECTED,
        StopReason.PROTOCOL,
    )
    if controller.silence_s is not None:
        yield _rule(
            "the controller's serial line is silent",
            StopReason.SILENCE,
            after_s=controller.silence_s,
        )
    for body in bodies:
        yield _freeze(controller, body, several=len(bodies) > 1)
    yield _rule(
        "for 0.5 s the controller sends more than hilgw can process",
        StopReason.SWAMPED,
    )
    if controller.has_battery:
        yield _rule("the robot's battery is empty; its controller ends", StopReason.BATTERY)
    if controller.step_ms is not None and controller.connection.way != "program":
        yield _rule(
            "a remote-control plug-in that the controller loads drives another robot",
            StopReason.REMOTE,
        )


def _freeze(controller: ControllerFacts, body: BodyFacts, *, several: bool) -> StopRule:
    cause = f"{FREEZE} ({body.key})" if several else FREEZE
    timeout_s = body.safety.timeout_s
    note = ""
    if timeout_s is None:
        note = "not stopped: no safety.command_timeout_s"
        note += " (but its line's silence is)" if controller.silence_s is not None else ""
    return _rule(cause, StopReason.COMMAND_TIMEOUT, after_s=timeout_s, note=note)


def _of_gateway(robot: str, bodies: Sequence[BodyFacts]) -> Iterator[StopRule]:
    yield _rule(
        "hilgw itself is late or hangs",
        StopReason.LATE,
        after_s=ns_to_s(bodies[0].safety.late_ns),
    )
    yield _rule("an exception in a session", StopReason.FAULT)
    yield _rule(f"`hilgw disarm {robot}`", StopReason.DISARMED)
    yield _rule("hilgw ends: Ctrl-C, SIGTERM, --duration", StopReason.ENDED)
    if len(bodies) > 1:
        yield _rule(f"`hilgw mode {robot}` leaves a body: that one stops", StopReason.EXCHANGED)


def _of_bodies(bodies: Sequence[BodyFacts]) -> Iterator[StopRule]:
    for body in bodies:
        of_body = f" ({body.key})" if len(bodies) > 1 else ""
        if body.safety.stops_on_fault:
            fault = f"the robot reports a fault of its hardware, where it can{of_body}"
            yield _rule(fault, StopReason.HARDWARE)
        if body.connection.line is not None:
            yield _rule(f"the serial line to the robot is full{of_body}", StopReason.BEHIND)
        which = "the connection to the robot is lost"
        if body.silence_s is not None:
            which += f", or its line is silent for {body.silence_s:g} s"
        yield StopRule(
            cause=f"{which}{of_body}",
            reasons=(str(StopReason.BODY),),
            after_s=None,
            note=f"hilgw cannot stop it then: {body.stop.alone}",
        )


def _rule(
    cause: str, *reasons: StopReason, after_s: float | None = 0.0, note: str = ""
) -> StopRule:
    return StopRule(cause=cause, reasons=tuple(map(str, reasons)), after_s=after_s, note=note)
