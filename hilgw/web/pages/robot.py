"""The page Robot: one robot with the values and limits of its devices, and what it may do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from hilgw.client.gateway import Gateway
from hilgw.devices.keys import MODIFIERS, NAMES, code_of
from hilgw.events.kinds import is_chosen, name_of, severity, words as words_of
from hilgw.events.numbers import mode_of, number
from hilgw.events.words import in_words as words
from hilgw.view.gateway import UP, Event, GatewayView
from hilgw.web.markup import Markup, age, content, element, joined, scrolling, state, table
from hilgw.web.page import Actions, Page, button
from hilgw.web.pages.overview import armed_state, general, robot_of
from hilgw.web.pages.traffic import clock

MODES = ("simulation", "remote", "shadow")
SHOWN = 100
HOLD_S = 0.6
"""A key that is held repeats sooner; it is up after that, also where its release is not seen."""
# The browser's names of keys, as hilgw has them; what Webots has no key for is the browser's.
KEYS = """(e) => { const named = %s, one = e.key.length == 1 && e.key > ' ' && e.key <= '~';
const key = e.key == ' ' ? 'space' : e.key.replace('Arrow', '').toLowerCase();
if (!one && !named.includes(key)) return;
e.preventDefault();
const held = ['shift', 'ctrl', 'alt'].filter((each) => e[each + 'Key']);
emit([...held, key].join('+')); }"""
ARM = "Its motors may move from now on: of a real robot at once, when its program commands it."
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|.)?")


def build(page: Page) -> None:
    from nicegui import ui  # the HTML of the page needs no server

    query, shown = ui.context.client.request.query_params, list[RobotPanel]()
    with ui.element("section").classes("gateway"):
        top = content()
        with ui.element("div").classes("tools"):
            chosen = ui.select({}, label="Robot").props("dense outlined").classes("series")
        place = ui.element("div")

    def update() -> None:
        robots = robots_of(page.bench.gateways)
        top.set_content(general(list(page.bench.gateways.values()), page.bench.problem))
        if robots != chosen.options:
            wanted = query.get("gateway", ""), query.get("robot", "")
            first = next((key for key in robots if key == wanted), next(iter(robots), None))
            now = chosen.value if chosen.value in robots else first
            chosen.set_options(robots, value=now)
        if chosen.value is None:
            place.clear()
            shown.clear()
        elif not shown or shown[0].key != chosen.value:
            place.clear()
            with place:
                shown[:] = [RobotPanel(page, chosen.value)]
        for robot in shown:
            robot.update()

    page.refresh(update)


def titles_of(gateways: Mapping[str, GatewayView]) -> dict[str, str]:
    """Return what each gateway is called: with its process where another is called the same."""
    titles = [view.title for view in gateways.values()]
    return {
        key: f"{view.title} {view.pid}" if titles.count(view.title) > 1 else view.title
        for key, view in gateways.items()
    }


def robots_of(gateways: Mapping[str, GatewayView]) -> dict[tuple[str, str], str]:
    """Return what each robot is called, by gateway and name.

    Where there are several gateways, it is called with its gateway.
    """
    titles = titles_of(gateways)
    return {
        (key, name): f"{name} ({titles[key]})" if len(gateways) > 1 else name
        for key, view in gateways.items()
        for name in view.status.get("robots", ())
    }


class RobotPanel:
    """Panel of one robot. Only for a visitor who may, there is what it is to do."""

    def __init__(self, page: Page, key: tuple[str, str]) -> None:
        self.key, self._page = key, page
        self._name, self._gateway = key[1], Gateway(Path(key[0]))
        self._head = content()
        self._actions = Actions(page)
        self._mode: Any = None
        if page.may("drive"):
            self._controls()
        self._sensors, self._motors = scrolling("Sensors"), scrolling("Motors")
        self._log, self._output = scrolling("Stop log"), scrolling("Program output")

    def _controls(self) -> None:
        from nicegui import ui

        name, gateway, do = self._name, self._gateway, self._actions.do
        with ui.element("div").classes("tools"):
            button("Disarm", lambda: do(f"{name} is disarmed", gateway.disarm, name), "negative")
            with ui.dialog() as sure, ui.card():
                ui.html(joined([element("h2", f"Arm {name}?"), element("p", ARM)]))
                accepted = ui.input("Motors with a lost zero whose position is right")
                with ui.element("div").classes("tools"):
                    button("Arm", lambda: sure.submit(True))
                    button("Cancel", lambda: sure.submit(False))

            def reason(motors: list[str]) -> str:  # why it cannot move though it is armed
                return gateway.arm(name, accept_positions=motors).notes.get(name, "")

            async def arm() -> None:
                accepted.set_value("")  # for one arming only
                if await sure:
                    motors = [each.strip() for each in accepted.value.split(",") if each.strip()]
                    await do(f"{name} is armed", reason, motors)

            button("Arm…", arm)
            self._mode = ui.select(list(MODES), label="Mode").props("dense outlined")
            self._mode.on(
                "update:model-value",  # the value itself may be set anew before this is called
                lambda event: do(f"{name}: {event.args}", gateway.mode, name, event.args),
                js_handler="(choice) => emit(choice.label)",
            )
            text = ui.input("Text for its controller").props("dense outlined")
            text.on(
                "keydown.enter", lambda: do(f"{name} has the text", gateway.say, name, text.value)
            )
        keys = ui.element("div").classes("keys").props("tabindex=0 role=application")
        keys.props(
            'aria-label="Keyboard of the robot: keys go to its controller while this has the focus"'
        )
        with keys:
            ui.html("Keyboard: choose this, then type: keys go to the controller.")
        named = str([*NAMES, *MODIFIERS]).lower()
        keys.on("keydown", self._press, js_handler=KEYS % named, throttle=0.1)

    async def _press(self, event: Any) -> None:
        key = str(event.args)
        if (code := code_of(key)) is not None:
            await self._actions.do(f"key {key}", self._gateway.key, self._name, [code], HOLD_S)

    def update(self) -> None:
        """Show the robot as it is now."""
        if (view := self._page.bench.gateways.get(self.key[0])) is None:
            return
        now, name = self._page.bench.now(), self._name
        self._head.set_content(head(view, name, now))
        if self._mode is not None:
            mode = robot_of(view, name).get("mode")
            self._mode.set_visibility(bool(mode))
            if self._mode.value != mode:
                self._mode.set_value(mode)
        for where, text in (
            (self._sensors, sensors(view, name, now)),
            (self._motors, motors(view, name, now)),
            (self._log, stop_log(view, name)),
            (self._output, output(view, name)),
        ):
            where.set_content(text)
            where.set_visibility(bool(text))


def head(view: GatewayView, name: str, now: int) -> Markup:
    """Return HTML of its state, and how old that is; whether its controller runs."""
    robot, current = robot_of(view, name), view.state(now)
    if not robot or current != UP:
        return element("header", element("h2", name), state(f"the gateway is {current}", "bad"))
    why = f"latched by {words(robot['latched'])}: arm it again" if robot["latched"] else ""
    old = element("span", f"{age(now - robot['mono_ns'])} old", class_="dim")
    absence = robot.get("controller", {}).get("text")
    absent = [element("div", state(absence, "warn"))] if absence else []
    armed = armed_state(robot), element("span", why)
    return element("header", element("h2", name), *armed, old, *absent)


def sensors(view: GatewayView, name: str, now: int) -> Markup:
    """Return HTML of the newest value of each sensor; where it lies in those that were seen."""
    rows = []
    for device, event in _of(view, "value", name):
        seen = view.ranges.get(("value", name_of(event)))
        bar = _bar(event["value"], seen)
        rows.append((device, words_of(event), bar, age(now - event["mono_ns"]), _between(seen)))
    return table("Sensors", ("sensor", "value", "", "age", "seen so far"), rows)


def motors(view: GatewayView, name: str, now: int) -> Markup:
    """Return HTML of what each motor does, shall do and was given."""
    rows = [(device, *_motor(view, event, now)) for device, event in _of(view, "command", name)]
    head = ("motor", "now", "mode", "target", "speed", "applied", "", "limits", "age", "outcome")
    return table("Motors", (*head, "other settings"), rows)


def _motor(view: GatewayView, event: Event, now: int) -> tuple[object, ...]:
    mode, stop, limits = mode_of(event), view.stop_of(event), event["limits"]
    known, applied = {**event["applied"], **event["given"]}, event["applied"].get(mode)
    if stop is not None:
        applied = None if mode == "position" else 0.0
    refused = event["reason"] and f"refused: {words(event['reason'])}"
    others = known.keys() - {"position", "velocity", mode}
    return (
        _motion(view, event, mode, applied, stop, now),
        mode,
        _with_unit(event, mode, known.get(mode)),
        _with_unit(event, "velocity", known.get("velocity")) if mode == "position" else "",
        _with_unit(event, mode, applied),
        _bar(applied, limits.get(mode)),
        _between(limits.get(mode)),
        age(now - event["mono_ns"]),
        state(refused, "bad") if refused else words(event["outcome"]),
        ", ".join(f"{each} {_with_unit(event, each, known[each])}" for each in sorted(others)),
    )


def _with_unit(event: Event, setting: str, value: Any) -> str:
    return (
        "" if value is None else f"{number(value):.4g} {event['units'].get(setting, '')}".rstrip()
    )


def _motion(
    view: GatewayView, event: Event, mode: str, applied: Any, stop: Event | None, now: int
) -> Markup:
    """Return whether it moves, as far as what it was sent shows that.

    One that goes to a position stands still when it is there.
    """
    body = view.newest["port"].get(view.port_of(event), {"state": UP})["state"]
    if (current := view.state(now)) != UP or body != UP:
        return state(f"unknown: {f'body {body}' if current == UP else f'gateway {current}'}", "bad")
    if stop is not None:
        return state(f"standing: {words(stop['reason'])}")
    if applied is None:
        return state("not moved yet")
    if mode == "position" and event["applied"].get("velocity") != 0:
        return state("moves to its target, or is there", "good")
    is_still = mode == "position" or applied == 0
    return state("standing") if is_still else state("moving", "good")


def _between(limits: Sequence[float] | None) -> str:
    return " to ".join(f"{each:.4g}" for each in limits) if limits else ""


def _bar(value: Any, limits: Sequence[float] | None) -> Markup:
    if limits is None or not isinstance(value, int | float) or limits[0] >= limits[1]:
        return Markup("")
    low, high = limits
    value = min(max(value, low), high)
    return element("meter", min=low, max=high, value=value, aria_label=f"{value:.4g} of {high:.4g}")


def _of(view: GatewayView, kind: str, robot: str) -> Iterator[tuple[str, Event]]:
    """Yield the newest events of the devices of a robot, by name.

    A body is named where it has two.
    """
    for _, event in sorted(view.newest[kind].items()):
        whose, _, body = event["robot"].partition(".")
        if whose == robot:
            yield " ".join(filter(None, (event["device"], body or event.get("body", "")))), event


def stop_log(view: GatewayView, name: str) -> Markup:
    """Return HTML of what stopped it, what armed it, and what it was refused, the newest first."""
    lines = sorted(view.log.since(0), key=itemgetter("mono_ns"))  # states of before come later
    rows = [
        (clock(each), whose, state(words_of(each), severity(each)))
        for each in reversed(lines)
        if is_chosen(whose := name_of(each), [name]) and each["event"] != "output"
    ]
    return table("Stop log", ("time", "part", "what"), rows[:SHOWN])


def output(view: GatewayView, name: str) -> Markup:
    """Return HTML of what its programs printed last, without escape sequences."""
    lines = [
        f"{clock(each)}  {ESCAPES.sub('', each['line'])}"
        for each in view.log.since(0)
        if each["event"] == "output" and each["source"].partition(".")[0] == name
    ]
    if not lines:
        return Markup("")
    return element(
        "div", element("h3", "Program output"), element("pre", "\n".join(lines[-SHOWN:]))
    )
