"""The page Overview: all gateways with the states of their parts, rates, losses and latencies."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from hilgw import reasons
from hilgw.events.kinds import BAD, MOTORS, PORTS, severity
from hilgw.events.words import in_words as words, of_motors
from hilgw.view.gateway import GONE, NO_TOPOLOGY, UP, GatewayView
from hilgw.view.series import at_most as at_most_s
from hilgw.web.markup import Markup, age, content, element, joined, scrolling, state, table
from hilgw.web.page import Page

COUNTED = ("lost", "sent", "delivered", "unsettled", "received", "missed", "late", "dropped")
REASONS: dict[str, type[reasons.Reason]] = {
    "rejected": reasons.RejectedReason,
    "not_received": reasons.NotReceivedReason,
    "refused": reasons.RefusedReason,
    "dropped": reasons.DroppedReason,
    "expired": reasons.ExpiredReason,
}


def build(page: Page) -> None:
    """Build the elements of the page.

    Each table stays, and its content is replaced: it stays scrolled and in focus.
    """
    from nicegui import ui  # the HTML of the page needs no server

    top, cards = content(), ui.element("div")
    shown: dict[str, tuple[Any, dict[str, Any]]] = {}

    def update() -> None:
        bench = page.bench
        views = sorted(
            bench.gateways.values(), key=lambda each: (each.ended == GONE, each.config, each.pid)
        )
        top.set_content(general(views, bench.problem))
        for key in shown.keys() - bench.gateways.keys():
            shown.pop(key)[0].delete()
        for index, view in enumerate(views):
            if view.key not in shown:
                with cards, ui.element("section").classes("gateway") as card:
                    places = {"": content()} | {name: scrolling(name) for name in TABLES}
                    shown[view.key] = card, places
            card, places = shown[view.key]
            if list(cards)[index] is not card:
                card.move(target_index=index)
            for name, text in parts(view, bench.now()).items():
                places[name].set_content(text)
                places[name].set_visibility(bool(text))

    page.refresh(update)


def general(views: list[GatewayView], problem: str) -> Markup:
    """Return HTML about no gateway: why there is none, and what to do."""
    items = [element("p", state(problem, "bad"), role="alert")] if problem else []
    if not views and not problem:
        start = element("code", "hilgw --config FILE")
        text = element("p", "Start one with ", start, ". It appears here by itself.")
        return element("section", element("h2", "No gateway is running"), text, class_="empty")
    return joined(items)


def parts(view: GatewayView, now: int) -> dict[str, Markup]:
    """Return HTML of a gateway: its tables by name, and under "" what is above them."""
    tables = {name: make(view, now) if view.status else Markup("") for name, make in TABLES.items()}
    return {"": _head(view, now), **tables}


def heading(view: GatewayView, now: int, about: str = "") -> Markup:
    """Return HTML of its name and its state, with `about` in small print."""
    current, since = view.state(now), age(now - view.message_ns)
    word = current if current == UP else f"{current} - last message {since} ago"
    return element(
        "header",
        element("h2", view.title, title=view.config),
        state(word, "good" if current == UP else "bad"),
        element("span", about, class_="dim"),
    )


def _head(view: GatewayView, now: int) -> Markup:
    shown, passed = view.rate("packet", now)
    rate = f"{passed} packets/s" + (f", {shown} of them shown" if shown < passed else "")
    memory, slow = view.status.get("memory_bytes"), view.slow.value(now)
    about = [
        f"process {view.pid}" if view.pid else "",
        "" if memory is None else f"{memory / 1e6:.0f} MB",
        rate if view.status else "",
        f"values {age(now - view.status_ns)} old" if view.status_ns else "",
        f"{slow} events/s left out: this page is too slow" if slow else "",
        f"restarted {view.restarts} x" if view.restarts else "",
    ]
    head = heading(view, now, " · ".join(filter(None, about)))
    why = element("p", view.why) if view.why else ""
    return joined([head, why, _map(view) if view.status else ""])


# --- the topology ---------------------------------------------------------------------------------


def _map(view: GatewayView) -> Markup:
    parts, items = view.status.get("topology", NO_TOPOLOGY), []
    robots = dict.fromkeys([*parts["robots"], *view.status["robots"]])
    for robot in robots:
        chain = _chain(view, robot)
        devices = ", ".join(parts["robots"].get(robot, ()))
        below = [element("div", devices, class_="dim")] if devices else []
        items.append(element("li", element("h3", f"robot {robot}"), chain, *below))
    airs: dict[str | None, list[str]] = {}
    for station, air in parts["stations"].items():
        if station in view.status["ports"]:
            airs.setdefault(air, []).append(station)
    for air, stations in airs.items():
        title = f"air {air}" if air else "stations"
        chain = element(
            "div", *(_port_state(view, each, each) for each in stations), class_="chain"
        )
        items.append(element("li", element("h3", title), chain))
    if parts["mocks"]:
        mocks = element("div", ", ".join(parts["mocks"]), class_="dim")
        items.append(element("li", element("h3", "mocks"), mocks))
    return element("ul", *items, class_="map")


def _chain(view: GatewayView, robot: str) -> Markup:
    ends = [(end, f"{robot}.{end}") for end in ("controller", "body", "remote")]
    states = [_port_state(view, port, end) for end, port in ends if port in view.status["ports"]]
    if known := robot_of(view, robot):
        states.insert(1, armed_state(known))
    between = element("i", "⇄", aria_hidden="true")
    parts = [each for one in states for each in (between, one)][1:]
    return element("div", *parts, class_="chain")


def _port_state(view: GatewayView, port: str, name: str = "") -> Markup:
    word = view.newest["port"].get(port, view.status["ports"][port])["state"]
    return state(f"{name} {word}".strip(), PORTS.get(word, BAD))


def robot_of(view: GatewayView, name: str) -> dict[str, Any]:
    """Return a robot with its state, and `mono_ns`: when it was so.

    There is nothing of one that `status` does not have.
    """
    if (known := view.status.get("robots", {}).get(name)) is None:
        return {}
    armed, mode = (view.newest[kind].get(name, {}) for kind in ("armed", "mode"))
    latched = None if armed.get("armed") else known["latched"]
    at_ns = max(view.status_ns, armed.get("mono_ns", 0))
    return {**known, **mode, **armed, "latched": latched, "mono_ns": at_ns}


def armed_state(robot: Mapping[str, Any]) -> Markup:
    """Return whether the motors of a robot may move, as `robot_of` has it."""
    return state(word := of_motors(robot), MOTORS[word])


# --- the tables -----------------------------------------------------------------------------------


def _robots(view: GatewayView, now: int) -> Markup:
    rows = []
    for name in view.status["robots"]:
        robot = robot_of(view, name)
        stop = view.newest["stopped"].get(name)
        last = "" if stop is None else f"{words(stop['reason'])}, {age(now - stop['mono_ns'])} ago"
        link = urlencode({"gateway": view.key, "robot": name})
        rows.append(
            (
                element("a", name, href=f"/robot?{link}"),
                armed_state(robot),
                last,
                robot["latched"] or "",
                robot.get("mode") or "",
                robot["late_steps"]["count"],
                age(now - robot["mono_ns"]),
            )
        )
    head = ("robot", "motors", "last stop", "latched by", "mode", "late steps", "age")
    return table("Robots", head, rows)


def _ports(view: GatewayView, now: int) -> Markup:
    rows = [
        (
            name,
            _port_state(view, name),
            _loss(port["last_loss"]),
            age(port["since_s"] * 1e9 + now - view.status_ns),
            *(
                f"{port[f'{way}_{what}_per_s']:.{digits}f}"
                for way in ("received", "sent")
                for what, digits in (("bytes", 0), ("packets", 1))
            ),
            "" if port["last_byte_s"] is None else age(port["last_byte_s"] * 1e9),
            age(now - view.status_ns),
            port["port"],
        )
        for name, port in view.status["ports"].items()
    ]
    head = ("port", "state", "last loss", "since", "in B/s", "pkt/s", "out B/s", "pkt/s")
    return table("Ports", (*head, "last byte", "age", "path"), rows)


def _loss(loss: Mapping[str, Any] | None) -> Markup:
    text = "" if loss is None else f"{words(loss['reason'])}, {age(loss['age_s'] * 1e9)} ago"
    return element("span", text, class_="wraps")


def _neighbours(view: GatewayView, now: int) -> Markup:
    rows = [
        (
            name,
            state(f"{event['state']} {event['reason']}".strip(), severity(event)),
            *(event["counts"].get(key, "") for key in COUNTED),
            *(
                "" if event[key] is None else f"{event[key]:.3g} ms"
                for key in ("p50_ms", "p99_ms", "round_trip_ms")
            ),
            "" if (offset := event["clock_offset_s"]) is None else f"{offset:+.6f} s",
            ", ".join(event["robots"]),
            ", ".join(f"{each} ({type})" for each, type in event["listeners"].items()),
            age(now - event["mono_ns"]),
        )
        for name, event in view.newest["link"].items()
    ]
    head = ("other gateway", "state", *COUNTED, "p50", "p99", "round trip", "clock offset")
    return table("Other gateways", (*head, "robots", "listeners", "age"), rows)


def _losses(view: GatewayView, now: int) -> Markup:
    rows = [
        (
            words(loss.reason),
            loss.packets,
            words(loss.kind),
            "" if loss.last is None else f"{age(now - loss.last['mono_ns'])} ago",
            meaning(loss.kind, loss.reason),
        )
        for loss in view.losses()
    ]
    head = ("reason", "packets", "fate", "last", "meaning")
    return table("Losses", head, rows)


def meaning(kind: str, reason: str) -> str:
    """Return the meaning of a reason; of one that an adapter declares, only the name is known."""
    try:
        return REASONS[kind].known(reason).doc
    except (KeyError, ValueError):
        return ""


def _latencies(view: GatewayView, now: int) -> Markup:
    bounds = view.status["latency_bounds_s"]
    rows = [
        (
            f"{hop} {part}",
            found["count"],
            *(at_most(bounds, found, share) for share in (0.5, 0.99)),
            age(now - view.status_ns),
        )
        for hop, parts in view.status["latency"].items()
        for part, found in parts.items()
        if found["count"]
    ]
    head = ("latency of", "count", "p50 at most", "p99 at most", "age")
    return table("Latency", head, rows)


def at_most(bounds: list[float], histogram: Mapping[str, Any], share: float) -> str:
    """Return the bound that this share of the durations does not exceed."""
    bound_s = at_most_s(bounds, histogram["buckets"], share * histogram["count"])
    return f"{bound_s * 1e3:g} ms" if bound_s < math.inf else f"more than {bounds[-1]:g} s"


TABLES = {
    "Robots": _robots,
    "Ports": _ports,
    "Other gateways": _neighbours,
    "Losses": _losses,
    "Latency": _latencies,
}
