"""The page Traffic: the packets that passed, the frames of the lines, and one packet in detail."""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from hilgw.events.words import in_words as words, of_line
from hilgw.view.gateway import Event, GatewayView
from hilgw.web.markup import Markup, content, element, joined, scrolling, state, table
from hilgw.web.page import Page, button
from hilgw.web.pages.packets import ANY_KIND, Capture, Filter, capture, frames, hops, send_command

SHOWN, DATA_BYTES = 100, 24
UPDATES = 8  # a click comes when the table has others: of this many, each packet can be chosen
# The press chooses: it comes sooner than the click, which is that of the keyboard.
CHOOSE = """(e) => { const b = e.target.closest('[data-key]');
if (b && !e.button && (e.type == 'mousedown' || !e.detail)) emit(b.dataset.key); }"""


Row = tuple[Capture, Event]


class Traffic:
    """Content of one page: captures of all gateways; while it is paused, as they were."""

    def __init__(self) -> None:
        self.captures: dict[str, Capture] = {}
        self.filter = Filter()
        self.rows: list[Row] = []
        self.chosen: Row | None = None
        self._shown: deque[dict[str, Row]] = deque(maxlen=UPDATES)

    def update(self, views: Sequence[GatewayView], chosen: Filter, *, paused: bool) -> None:
        old = self.captures if paused else {}
        self.captures = old | {
            view.key: old[view.key].followed(view) if view.key in old else capture(view)
            for view in views
            if view.key in old or not paused
        }
        self.filter = chosen
        packets = (
            (at, each) for at in self.captures.values() for each in at.packets if chosen.takes(each)
        )
        self.rows = sorted(packets, key=lambda row: -row[1]["mono_ns"])
        self._shown.append({str(id(row[1])): row for row in self.rows[:SHOWN]})

    def choose(self, key: str) -> None:
        """Show this packet of the table, with all that was there at that time."""
        for rows in reversed(self._shown):
            if key in rows:
                self.chosen = moment, _ = rows[key]
                self.captures[moment.control] = moment
                return

    def packets(self) -> Markup:
        rows = [self._row(packet) for _, packet in self.rows[:SHOWN]]
        return table("Packets", ("time", "from", "bytes", "way", "to", "kind"), rows)

    def _row(self, packet: Event) -> tuple[object, ...]:
        lost, data = words(packet["not_received"]), bytes.fromhex(packet["data"])
        text = "".join(chr(each) if 32 <= each < 127 else "·" for each in data[:DATA_BYTES])
        name = f"Details of {packet['source']} {clock(packet)}"
        pressed = str(self.chosen is not None and self.chosen[1] is packet).lower()
        return (
            clock(packet),
            packet["source"],
            joined([element("code", text + "…" * (len(data) > DATA_BYTES)), f" {len(data)} B"]),
            element(
                "button", "Details", data_key=id(packet), aria_label=name, aria_pressed=pressed
            ),
            joined([state(f"lost: {lost}", "bad") if lost else "", *self._ends(packet)]),
            f"{packet['type']}, channel {packet['channel']}",
        )

    def _ends(self, packet: Event) -> Iterator[object]:
        yield ", ".join(packet["received_by"])
        for name, why in packet["missed"].items():
            if self.filter.name.strip() and self.filter.is_of([name]):
                yield state(f" {name}: {words(why)}", "bad")

    def frames(self) -> Markup:
        """Return the newest frames, in words."""
        events = [
            each
            for at in self.captures.values()
            for each in at.traces
            if each["event"] == "frame" and self.filter.is_of([each["station"]])
        ]
        events.sort(key=lambda each: -each["mono_ns"])
        rows = [(clock(each), each["station"], of_line(each)) for each in events[:SHOWN]]
        return table("Decoded frames", ("time", "station", "frame"), rows)

    def amount(self, views: Sequence[GatewayView], now: int) -> Markup:
        """State how many are shown of those that passed."""
        got, passed = (sum(view.rate("packet", now)[part] for view in views) for part in (0, 1))
        sampled = f"sampled: {got} of {passed} packets/s" if got < passed else f"{passed} packets/s"
        kept = sum(len(at.packets) for at in self.captures.values())
        shown = f"{len(self.rows[:SHOWN])} of {len(self.rows)}, of the newest {kept}"
        return joined([sampled, " · ", shown])

    def details(self) -> Markup:
        if self.chosen is None:
            return element("p", "Details: the way from Emitter to Receiver.", class_="dim")
        old, packet = self.chosen
        if packet in (moment := self.captures.get(old.control, old)).packets:
            self.chosen = moment, packet
        rows = [
            (
                hop.name,
                hop.part,
                "" if hop.after_ns is None else f"{hop.after_ns / 1e6:+.1f} ms",
                hop.usual,
                state(hop.text, "bad") if hop.lost else hop.text,
            )
            for hop in hops(*self.chosen)
        ]
        lines = [element("p", element("code", of_line(each))) for _, each in frames(*self.chosen)]
        return joined(
            [
                element("h2", f"{packet['source']} {clock(packet)}"),
                element("p", element("code", bytes.fromhex(packet["data"]).hex(" "))),
                table("Hops", ("hop", "part", "after", "usual time", "what"), rows),
                element("h3", f"Frames of its bytes: {len(lines)}"),
                *lines,
            ]
        )

    def command(self) -> str:
        """Return the command that sends the packet again; "" without one."""
        return send_command(*self.chosen, select=len(self.captures) > 1) if self.chosen else ""


def clock(event: Event) -> str:
    return f"{datetime.fromtimestamp(event['wall_s']).astimezone():%H:%M:%S.%f}"[:-3]


def build(page: Page) -> None:
    from nicegui import ui  # the HTML of the page needs no server

    from hilgw.web.page import SLOWER_S

    traffic = Traffic()

    def choose(event: Any) -> None:
        traffic.choose(event.args)
        pause.set_value(True)  # so that the packet stays in the table

    with ui.element("section").classes("gateway"):
        with ui.element("div").classes("tools"):
            name = ui.input("Name").props("dense outlined")
            kind = ui.select(
                [ANY_KIND, "radio", "infra-red", "serial"], label="Kind", value=ANY_KIND
            ).props("dense outlined")
            lost = ui.checkbox("Only lost")
            pause = ui.checkbox("Pause")
        amount, packets = content().classes("dim"), scrolling("Packets")
        for press in ("mousedown", "click"):
            packets.on(press, choose, js_handler=CHOOSE)
    with ui.element("section").classes("gateway"):
        details = scrolling("Details")
        with ui.element("div").classes("tools") as again:
            command = content()
            button("Copy as hilgw send", lambda: ui.clipboard.write(traffic.command()))
    with ui.element("section").classes("gateway"):
        lines = scrolling("Decoded frames")

    def update() -> None:
        page.site.live.need("frame")
        views, now = list(page.bench.gateways.values()), page.bench.now()
        traffic.update(views, Filter(name.value, kind.value, lost.value), paused=pause.value)
        amount.set_content(traffic.amount(views, now))
        packets.set_content(traffic.packets())
        lines.set_content(traffic.frames())
        details.set_content(traffic.details())
        command.set_content(element("code", traffic.command()))
        again.set_visibility(traffic.chosen is not None)

    page.refresh(update, SLOWER_S)
