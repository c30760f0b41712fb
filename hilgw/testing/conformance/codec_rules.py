"""Rules for bytes in both directions: vectors, chunks, noise, truncated frames, random bytes."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import cycle
from typing import Any

from hypothesis import strategies as st

from hilgw.adapters.base import Dropped, Event, Notice, Received, Transmission, Write, line_of
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.inputs import anything, cut_streams, cuts, explore, noise
from hilgw.testing.conformance.simulation import Simulation, new_session
from hilgw.testing.conformance.subject import Subject, Vector, broken, bytes_line, require, shown
from hilgw.testing.conformance.watched_session import DEADLINES, WatchedSession

GIVEN_UP_S = 10.0  # this silence ends any incomplete frame
SETTLED_S = 120.0  # and any frame that waits for its acknowledgement
STATES = ("new", "opened", "ready", "closed")
SECOND_NS = 1_000_000_000
MOST_DEADLINES = 10_000


# --- the events of a session: collected through a silence, counted and compared ------------------


def silence(session: WatchedSession, now: int, seconds: float) -> tuple[list[Event], int]:
    """Pass this time in silence: each deadline expires when due."""
    end = now + round(seconds * SECOND_NS)
    events: list[Event] = []
    for _ in range(MOST_DEADLINES):
        due = session.next_deadline()
        if due is None or due > end:
            return events, end
        now = max(now, due)
        events += session.expire(now)
    require(
        False,
        DEADLINES,
        f"{MOST_DEADLINES} deadlines in {seconds:g} s of silence",
        "deadlines for pending work only, no polling",
    )
    return events, end


def received(events: Sequence[Event]) -> list[Received]:
    """Return the received packets."""
    return [event for event in events if isinstance(event, Received)]


def dropped(events: Sequence[Event]) -> Counter[str]:
    """Return the number of drops, by reason."""
    counts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, Dropped):
            counts[event.reason] += event.count
    return counts


def essence(events: Sequence[Event]) -> dict[str, Any]:
    """Return the part of the events that must not depend on the chunking."""
    # As text: two errors with the same text are different objects.
    others = [repr(e) for e in events if not isinstance(e, Received | Dropped | Notice | Write)]
    return {
        "packets": received(events),
        "dropped": dict(sorted(dropped(events).items())),
        "written": b"".join(e.data for e in events if isinstance(e, Write)),
        "other events": others,
    }


def difference(got: dict[str, Any], expected: dict[str, Any]) -> tuple[str, str]:
    """Return the first difference of two essences, as text."""
    for name, value in expected.items():
        if got[name] != value:
            return f"{name}: {shown(got[name])}", f"{name}: {shown(value)}"
    return shown(got), shown(expected)


def unmatched(got: Sequence[bytes], expected: Sequence[tuple[bytes, bool]], extras: bool) -> str:
    """Compare received packets with the expected ones, in order; (data, True) is optional.

    With `extras`, other packets are allowed. Returns "", or the difference as text.
    """

    @cache
    def fits(position: int, index: int) -> bool:
        if position == len(expected):
            return extras or index == len(got)
        data, optional = expected[position]
        if optional and fits(position + 1, index):
            return True
        if index == len(got):
            return False
        if got[index] == data and fits(position + 1, index + 1):
            return True
        return extras and fits(position, index + 1)

    if fits(0, 0):
        return ""
    known = {data for data, _ in expected}
    unknown = [data for data in got if data not in known]
    if unknown and not extras:
        return f"noise became a packet: {shown(unknown[0])}"
    return f"{len(got)} packets"


class CodecRules(Subject):
    """Each method is one rule; its name is the name of the rule."""

    # --- vectors ----------------------------------------------------------------------------------

    def test_vectors_are_received(self) -> None:
        """Check that the bytes of each vector become its packet, and nothing else."""
        for wire, vector in self._incoming():
            session, now = self._ready_session()
            events = session.receive(wire, now)
            events += silence(session, now, self.pause_s or GIVEN_UP_S)[0]
            got = [each for each in events if isinstance(each, Received | Dropped)]
            more = (bytes_line(wire), f"describe: {session.describe(wire)}")
            channel = self._channel(vector)
            expected = Received(vector.data, channel, vector.rssi_dbm, vector.address)
            good = len(got) == 1 and isinstance(got[0], Received) and self._same(got[0], vector)
            require(good, "vectors are received", got, shown(expected), *more)

    def test_vectors_are_sent(self) -> None:
        """Check that the packet of each vector becomes its bytes."""
        for wire, vector in self._outgoing():
            session, now = self._ready_session()
            answer = session.send(self._packet(vector), now)
            require(
                isinstance(answer, Transmission) and answer.data == wire,
                "vectors are sent",
                answer.data if isinstance(answer, Transmission) else answer,
                shown(wire),
                f"packet:   {shown(vector.data)} on channel {self._channel(vector)}",
            )

    def _same(self, got: Received, vector: Vector) -> bool:
        return (
            (got.data, got.channel) == (vector.data, self._channel(vector))
            and vector.rssi_dbm in (None, got.rssi_dbm)
            and vector.address in (None, got.address)
        )

    # --- chunks -----------------------------------------------------------------------------------

    def test_any_chunking_gives_the_same_events(self) -> None:
        """Check that the same comes out of a stream, however it is cut into pieces."""
        frames = [wire for wire, _ in self._incoming()]
        streams = frames if self.pause_s else [b"".join(frames * 2)[:2000], *frames]

        def check(example: tuple[bytes, list[bytes]]) -> None:
            self._compare("any chunking gives the same events", *example, byte_ns=0)

        explore(cut_streams(streams), check, self.examples)

    def test_byte_by_byte_equals_whole(self) -> None:
        """Check that a frame received byte by byte at the line's rate equals a whole one."""
        line = line_of(self.station_settings())[0]
        byte_ns = line.byteSize * SECOND_NS // line.baudRate
        for wire, _ in self._incoming():
            self._compare("byte by byte equals whole", wire, cuts(wire, range(len(wire))), byte_ns)

    def _compare(self, rule: str, stream: bytes, pieces: list[bytes], byte_ns: int) -> None:
        whole, now = self._ready_session()
        expected = whole.receive(stream, now) + silence(whole, now, GIVEN_UP_S)[0]
        session, now = self._ready_session()
        got: list[Event] = []
        for piece in pieces:
            waited, now = silence(session, now, len(piece) * byte_ns / SECOND_NS)
            got += waited + session.receive(piece, now)
        got += silence(session, now, GIVEN_UP_S)[0]
        if essence(got) != essence(expected):
            sizes = [len(piece) for piece in pieces]
            broken(
                rule,
                *difference(essence(got), essence(expected)),
                bytes_line(stream),
                f"pieces:   {shown(sizes)}",
            )

    # --- noise and truncated frames ---------------------------------------------------------------

    def test_garbage_costs_no_good_frame(self) -> None:
        """Check that exactly the valid frames are received, with noise around them."""
        vectors = self._incoming()

        def check(pieces: tuple[bytes, ...]) -> None:
            session, now = self._ready_session()
            events: list[Event] = []
            stream, expected, frames = b"", [], cycle(vectors)
            for index, piece in enumerate([*pieces, b""]):
                wires = [next(frames) for _ in range(self.noise_costs + 2)]
                for part in [piece, *(wire for wire, _ in wires)]:
                    stream += part
                    events += session.receive(part, now) if part else []
                    waited, now = silence(session, now, self.pause_s)
                    events += waited
                affected = range(self.noise_costs if index < len(pieces) else 0)
                expected += [(each.data, at in affected) for at, (_, each) in enumerate(wires)]
                if index == len(pieces) - 1:  # the last frames follow a silence
                    waited, now = silence(session, now, GIVEN_UP_S)
                    events += waited
            events += silence(session, now, GIVEN_UP_S)[0]
            self._require_frames("garbage costs no good frame", events, expected, stream)

        pieces = noise([wire for wire, _ in vectors], self.check_bits, self.tolerant)
        explore(st.tuples(pieces, pieces, pieces), check, self.examples)

    def test_truncated_frame_is_dropped(self) -> None:
        """Check that a truncated frame is counted, and costs no frame after a silence."""
        vectors = self._incoming()
        after = [vector for _, vector in zip(range(3), cycle(vectors), strict=False)]
        for wire, cut in vectors:
            positions = range(1, len(wire)) if len(wire) < 100 else range(1, len(wire), 37)
            for position in positions:
                session, now = self._ready_session()
                events = session.receive(wire[:position], now)
                waited, now = silence(session, now, GIVEN_UP_S)
                events += waited
                for frame, _ in after:
                    events += session.receive(frame, now)
                    waited, now = silence(session, now, self.pause_s)
                    events += waited
                events += silence(session, now, GIVEN_UP_S)[0] + session.close()
                # The start mark of the next frame may complete the truncated frame.
                expected = [(cut.data, True)]
                expected += [
                    (each.data, at < self.noise_costs) for at, (_, each) in enumerate(after)
                ]
                stream = wire[:position] + b"".join(frame for frame, _ in after)
                rule = "a truncated frame is dropped"
                self._require_frames(
                    rule, events, expected, stream, f"cut:      after {position} B"
                )
                counted = dropped(events) or len(received(events)) > len(after)
                if self.check_bits >= 8 and position > len(wire) // 2:
                    require(counted, rule, "no Dropped event", "the truncated frame counted")

    def _require_frames(
        self,
        rule: str,
        events: list[Event],
        expected: list[tuple[bytes, bool]],
        stream: bytes,
        *more: str,
    ) -> None:
        got = [event.data for event in received(events)]
        wrong = unmatched(got, expected, extras=self.check_bits < 16)
        if wrong:
            sure = [data for data, optional in expected if not optional]
            lost = Counter(sure) - Counter(got)
            text = (
                f"{wrong}; lost: {shown(list(lost.elements()))}; dropped: {dict(dropped(events))}"
            )
            broken(rule, text, f"{len(sure)} valid packets, in order", *more, bytes_line(stream))

    # --- random bytes -----------------------------------------------------------------------------

    def test_random_bytes_raise_nothing(self) -> None:
        """Check that for any input the events keep the contract, and every frame ends."""
        frames = [wire for wire, _ in self._incoming()]

        def check(example: tuple[str, list[tuple[bytes, int, int]]]) -> None:
            state, steps = example
            session, now = self._session_in(state)
            for data, pause_ns, packets in steps:
                session.receive(data, now)
                for payload in self._numbered(packets):
                    if len(session.tokens) < session.window:
                        session.send(self._packet(Vector(data=payload)), now)
                now = silence(session, now, pause_ns / SECOND_NS)[1]
            silence(session, now, SETTLED_S)
            require(
                not session.tokens,
                "tokens",
                f"frames {sorted(session.tokens)} are open after {SETTLED_S:g} s",
                "each of them Delivered or Refused",
            )
            session.close()

        check(("ready", [(b"", 0, 1)]))  # a frame without any answer
        step = st.tuples(
            anything(frames),
            st.sampled_from((0, 1_000_000, SECOND_NS)),
            st.sampled_from((0, 0, 1, 2)),
        )
        examples = st.tuples(st.sampled_from(STATES), st.lists(step, max_size=6))
        explore(examples, check, 2 * self.examples)

    def test_describe_never_raises(self) -> None:
        """Check that describe() returns a line of text for any bytes, without side effects."""
        frames = [wire for wire, _ in self._incoming()]
        session = self._ready_session()[0]

        def check(data: bytes) -> None:
            session.describe(data)

        explore(anything(frames), check, 2 * self.examples)
        for wire, vector in self._incoming():
            other, now = self._ready_session()
            half = len(wire) // 2
            events = other.receive(wire[:half], now)
            for data in (wire, wire[half:], b"", b"\xff" * 9):
                other.describe(data)
            events += other.receive(wire[half:], now)
            events += silence(other, now, GIVEN_UP_S)[0]
            got = [event.data for event in received(events)]
            if vector.data not in got:
                broken(
                    "describe",
                    f"after describe() in mid-frame: received {shown(got)}",
                    shown([vector.data]),
                    bytes_line(wire),
                )

    # --- sessions ---------------------------------------------------------------------------------

    def _ready_session(self) -> tuple[WatchedSession, int]:
        """Return a session after the handshake with its mock, without the mock."""
        simulation = Simulation(self)
        session = WatchedSession(simulation.near.session.inner, self.adapter.limits.window)
        session.ready = True
        return session, simulation.clock.time

    def _session_in(self, state: str) -> tuple[WatchedSession, int]:
        if state == "ready":
            return self._ready_session()
        now = SECOND_NS
        session = new_session(self)
        if state != "new":
            session.open(now)
        if state == "closed":
            session.close()
        return session, now

    def _packet(self, vector: Vector) -> Packet:
        return Packet(vector.data, self._channel(vector), self.adapter.type, "test.emitter")
