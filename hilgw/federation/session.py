"""A Zenoh session next to an event loop; the one module that imports zenoh.

Zenoh blocks a sender while a receiver stands still. Therefore a thread sends, in order, from a
bounded queue; the event loop gives way to it for some milliseconds, and never waits for Zenoh. The
event loop sends a lone packet itself, which Zenoh holds for 1 ms at most.
"""

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import monotonic, monotonic_ns
from typing import Any

import zenoh

from hilgw.errors import PortError
from hilgw.federation.inbox import Inbox

MOST_LEAVING, MOST_LEAVING_BYTES = 8192, 8 << 20
LONGEST_KEY = 512  # of a gateway
MOST_AHEAD, YIELD_S = 200, 0.002  # packets that wait until the sending thread gets this time
MOST_WAITING_S = 0.001  # longest wait of packets before the thread sends next to the event loop
APART_S = 0.000_25  # of packets that leave from the event loop
MOST_PUBLISHERS, MOST_ROUTES = 1024, 1024
GET_S = 1.0
REMOTE = zenoh.Locality.REMOTE
SOURCE_PLACE = re.compile(r" at /\S+:[0-9]+\.?")  # of Zenoh's own errors

OnSample = Callable[[str, bytes, bytes], None]
"""Gets the key, the payload and the attachment."""
OnToken = Callable[[str, bool], None]
"""Gets the key of a liveliness token, and whether it is there."""
OnReply = Callable[[bytes | None, int, int], None]
"""Gets each answer, then None, and the times of the query and of the answer."""


class Query:
    """A query of another session. received_ns: monotonic time of its arrival."""

    def __init__(self, session: "ZenohSession", query: zenoh.Query) -> None:
        self.received_ns = monotonic_ns()
        self.payload = b"" if query.payload is None else query.payload.to_bytes()
        self._session = session
        self._query: zenoh.Query | None = query

    def reply(self, key: str, make: Callable[[], bytes]) -> None:
        """Answer it; `make` is called when the answer leaves, in the thread that sends."""

        def send() -> None:
            query, self._query = self._query, None  # without it the answer is complete
            if query is not None:
                query.reply(key, make())

        self._session.later(send)


class ZenohSession:
    """A session, from `open` to `close`; all methods are called in the event loop.

    inbox: what arrives. failed_puts: packets that Zenoh did
    not take. left_bytes: of packets that Zenoh has taken. failure: the last error of Zenoh other
    than for a packet, such as of a declaration.
    """

    def __init__(self, config: zenoh.Config) -> None:
        self.failed_puts = 0
        self.failure = ""
        self._config = config
        self._loop = asyncio.get_running_loop()
        self.inbox = Inbox(self._loop)
        self._session: zenoh.Session | None = None
        self._leaving: deque[Any] = deque()
        self._awake: SimpleQueue[bool] = SimpleQueue()  # of the thread; False: it ends
        self._put_bytes = self.left_bytes = 0  # counted by the event loop, and by the thread
        self._thread = threading.Thread(target=self._send_all, name="hilgw-zenoh", daemon=True)
        self._all_left = threading.Event()
        self._is_yielding = False  # the event loop, to the thread
        self._yields_at = MOST_AHEAD  # packets that wait
        self._puts = self._puts_before = 0  # at the turn before
        self._is_burst = False  # `_look` will be called
        self._is_sending = False  # the thread
        self._left_s = 0.0  # it was woken, or a packet left without it
        mode = json.loads(config.get_json("mode"))
        self._is_client = mode == "client"
        # Why the event loop may not send: Zenoh may hold the way to a reader that stands still.
        self._barred = {"router"} if mode == "router" else set()
        if json.loads(config.get_json("transport/unicast/lowlatency")):
            self._barred.add("lowlatency")
        self._publishers: dict[tuple[str, bool], zenoh.Publisher] = {}
        self._light_publishers: dict[str, zenoh.Publisher] = {}
        self._routes: dict[str, Any] = {}
        self._seen: set[str] = set()  # keys of what arrived
        self._declared: dict[str, Any] = {}
        self._closing = False

    async def open(self) -> None:
        """Open the session, or raise PortError; a client waits until it has connected."""
        opened: asyncio.Future[zenoh.Session] = self._loop.create_future()

        def open_session() -> None:
            try:
                result = partial(_set, opened, zenoh.open(self._config))
            except zenoh.ZError as error:
                result = partial(_fail, opened, error)
            with suppress(RuntimeError):  # the event loop has ended
                self._loop.call_soon_threadsafe(result)

        # Not in the pool: a client that finds no router waits for ever, and the process ends.
        threading.Thread(target=open_session, name="hilgw-zenoh-open", daemon=True).start()
        try:
            self._session = await opened
        except zenoh.ZError as error:
            problem = SOURCE_PLACE.sub("", str(error))
            fix = (
                "check the certificates and keys in `federation: zenoh:`"
                if re.search("certificate|private key|rustls|pem", problem, re.IGNORECASE)
                else "check the endpoints of `federation`, and that no other program uses them"
            )
            raise PortError(problem, reason=PortError.BUSY, where="federation", fix=fix) from None
        if not self._is_client:
            see = _at_once(self._see_transport)
            self._transports = self._session.info.declare_transport_events_listener(
                see, history=True
            )
        self._thread.start()

    def _see_transport(self, event: Any) -> None:
        """Note a transport, in a thread of Zenoh: a peer blocks while its clients do."""
        transport = event.transport
        if transport.whatami != zenoh.WhatAmI.PEER:
            is_there = event.kind == zenoh.SampleKind.PUT
            (self._barred.add if is_there else self._barred.discard)(str(transport.zid))

    @property
    def id(self) -> str:
        """Zenoh's own ID of the session."""
        assert self._session is not None
        return str(self._session.zid())

    async def close(self, timeout_s: float) -> None:
        """Send the queue, for this long at most, and close."""
        if self._session is None:
            self.inbox.close()
            return
        session, done = self._session, asyncio.Event()
        self.later(lambda: self._loop.call_soon_threadsafe(done.set))
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), timeout_s)
        self._closing = True
        self._awake.put(False)
        # A call that blocks in Zenoh ends with the session, or with the process.
        closing = threading.Thread(target=session.close, daemon=True)
        closing.start()
        deadline = self._loop.time() + timeout_s
        while closing.is_alive() and self._loop.time() < deadline:
            await asyncio.sleep(0.005)
        self.inbox.close()

    # --- what leaves --------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """True if the send queue has no room for packets."""
        waiting = self._put_bytes - self.left_bytes
        return len(self._leaving) >= MOST_LEAVING or waiting >= MOST_LEAVING_BYTES

    def put(
        self, key: str, payload: bytes, attachment: bytes | None = None, *, is_light: bool = False
    ) -> None:
        """Publish to other sessions, in order with all that is put.

        `is_light`: all gateways have taken nearly all that was put, so that Zenoh has room for
        this. It may leave from the event loop then, some 50 us earlier; a link that has no room for
        1 ms loses it.
        """
        if (
            is_light
            and not self._barred
            and not (self._is_burst or self._leaving or self._is_sending)
        ):
            publisher, now = self._light_publishers.get(key), monotonic()
            if publisher is None:  # to declare it may block
                self.later(partial(self._declare_light, key))
            elif now - self._left_s >= APART_S:
                self._left_s = now
                try:
                    publisher.put(payload, attachment=attachment)
                except Exception:  # noqa: BLE001 - as in the thread
                    self.failed_puts += not self._closing
                return
        self._put_bytes += len(payload)
        self._leaving.append((key, payload, attachment))
        self._puts += 1
        if self._is_burst:
            if len(self._leaving) >= self._yields_at:
                self._let_leave()
            return
        if len(self._leaving) == 1:
            self._yields_at = MOST_AHEAD  # Zenoh took all that was before
        before_s = self._left_s
        self._wake()
        if self._left_s - before_s < MOST_WAITING_S:
            self._is_burst = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Look for a burst in the next turn of the event loop.

        While the event loop runs, Python lets the thread send one packet at a time, and each of
        them waits for the event loop. So packets that come in turn after turn wait for each other;
        the first one did not wait.
        """
        self._is_burst = self._puts != self._puts_before
        self._puts_before = self._puts
        is_due = not self._is_burst or monotonic() - self._left_s > MOST_WAITING_S
        if is_due and self._leaving:
            self._wake()
        if self._is_burst:
            self._loop.call_soon(self._look)

    def _wake(self) -> None:
        self._left_s = monotonic()
        self._awake.put(True)

    def _let_leave(self) -> None:
        """Give the thread the time to send the queue, but only while it sends.

        If Zenoh blocks it, this happens a few times until the queue is full.
        """
        waiting = len(self._leaving)
        self._all_left.clear()
        self._is_yielding = True
        self._wake()
        self._yields_at = MOST_AHEAD if self._all_left.wait(YIELD_S) else 2 * waiting
        self._is_yielding = False

    def offer(self, key: str, payload: bytes, attachment: bytes) -> None:
        """Publish if there is room: a slow reader loses it, and holds up nothing."""
        if not self.is_full:
            self.later(lambda: self._offer(key, payload, attachment))

    def _offer(self, key: str, payload: bytes, attachment: bytes) -> None:
        assert self._session is not None
        self._session.put(
            key,
            payload,
            attachment=attachment,
            congestion_control=zenoh.CongestionControl.DROP,
            express=not self._leaving,
        )

    def later(self, call: Callable[[], object]) -> None:
        """Call this in the thread that sends, after all that was put before."""
        self._leaving.append(call)
        self._awake.put(True)

    def get(self, key: str, make: Callable[[], bytes] | None, on_reply: OnReply) -> None:
        """Query another session; `make` returns the payload, when the query leaves."""

        def send() -> None:
            asked = monotonic_ns()

            def reply(reply: zenoh.Reply) -> None:
                if (sample := reply.ok) is not None:
                    data = sample.payload.to_bytes()
                    self.inbox.put(len(data), on_reply, (data, asked, monotonic_ns()))

            def end() -> None:
                self.inbox.put(0, on_reply, (None, asked, monotonic_ns()))

            assert self._session is not None
            self._session.get(
                key,
                _at_once(reply, end),
                payload=None if make is None else make(),
                timeout=GET_S,
                target=zenoh.QueryTarget.ALL,
                consolidation=zenoh.ConsolidationMode.NONE,
                congestion_control=zenoh.CongestionControl.BLOCK,
                allowed_destination=REMOTE,
                express=True,
            )

        self.later(send)

    def _send_all(self) -> None:
        """Run the thread: a lone item of the queue leaves at once, the others in one batch."""
        leaving, publishers = self._leaving, self._publishers
        while self._awake.get():
            self._is_sending = True
            for _ in range(len(leaving)):
                item = leaving.popleft()
                try:
                    if type(item) is tuple:
                        key, payload, attachment = item
                        self.left_bytes += len(payload)
                        way = key, not leaving
                        publisher = publishers.get(way) or self._publisher(*way)
                        publisher.put(payload, attachment=attachment)
                    else:
                        item()
                except Exception as error:  # noqa: BLE001 - the next ones are sent
                    self.failed_puts += not self._closing
                    if type(item) is not tuple and not self._closing:
                        self.failure = SOURCE_PLACE.sub("", str(error))[:200] or repr(error)
            self._is_sending = False
            if self._is_yielding and not leaving:
                self._all_left.set()

    def _publisher(self, key: str, express: bool) -> zenoh.Publisher:
        if len(self._publishers) >= MOST_PUBLISHERS:
            self._publishers.clear()  # undeclares them
        assert self._session is not None
        made = self._publishers[key, express] = self._session.declare_publisher(
            self._routed(key),
            congestion_control=zenoh.CongestionControl.BLOCK,
            express=express,
            allowed_destination=REMOTE,
        )
        return made

    def _declare_light(self, key: str) -> None:
        """Declare a publisher that is not express: packets that Zenoh still has leave together."""
        if len(self._light_publishers) >= MOST_PUBLISHERS:
            self._light_publishers.clear()
        if key not in self._light_publishers:
            assert self._session is not None
            self._light_publishers[key] = self._session.declare_publisher(
                self._routed(key),
                congestion_control=zenoh.CongestionControl.DROP,
                allowed_destination=REMOTE,
            )

    def _routed(self, key: str) -> Any:
        """Return the key as Zenoh has it, which keeps its routes.

        Zenoh looks up the routes of an unknown key for each sample, which costs about as much as
        all the rest.
        """
        if key not in self._routes and len(self._routes) < MOST_ROUTES:
            assert self._session is not None
            self._routes[key] = self._session.declare_keyexpr(key)
        return self._routes.get(key, key)

    # --- what arrives -------------------------------------------------------------------------

    def subscribe(self, key: str, handler: OnSample) -> None:
        """Call the handler in the event loop with each sample that another session puts."""
        seen, arrive = self._seen, self.inbox.put

        def take(sample: zenoh.Sample) -> None:
            payload, more = sample.payload.to_bytes(), sample.attachment  # of DELETE: empty
            attachment = b"" if more is None else more.to_bytes()
            place = str(sample.key_expr)
            if place not in seen and len(seen) < MOST_ROUTES and len(place) <= LONGEST_KEY:
                seen.add(place)
                self.later(partial(self._routed, place))
            size = len(payload) + len(attachment) + len(place)
            arrive(size, handler, (place, payload, attachment))

        self._declare(
            key, lambda at: at.declare_subscriber(key, _at_once(take), allowed_origin=REMOTE)
        )

    def answer(self, key: str, handler: Callable[[Query], None]) -> None:
        """Call the handler in the event loop with each query."""

        def take(query: zenoh.Query) -> None:
            made = Query(self, query)
            self.inbox.put(len(made.payload) + 1, handler, (made,))

        self._declare(
            key, lambda at: at.declare_queryable(key, _at_once(take), allowed_origin=REMOTE)
        )

    def watch(self, key: str, handler: OnToken) -> None:
        """Call the handler in the event loop with each liveliness token that comes or goes."""

        def take(sample: zenoh.Sample) -> None:
            token, is_there = str(sample.key_expr), sample.kind == zenoh.SampleKind.PUT
            self.inbox.put(
                len(token) if len(token) > LONGEST_KEY else 0, handler, (token, is_there)
            )

        self._declare(
            key, lambda at: at.liveliness().declare_subscriber(key, _at_once(take), history=True)
        )

    def live(self, key: str) -> None:
        """Declare a liveliness token."""
        self._declare("token " + key, lambda at: at.liveliness().declare_token(key))

    def withdraw(self, key: str) -> None:
        """End the declaration with this key; that of a token is "token " and the key."""

        def end() -> None:
            if (declared := self._declared.pop(key, None)) is not None:
                declared.undeclare()

        self.later(end)

    def _declare(self, key: str, declare: Callable[[zenoh.Session], Any]) -> None:
        def begin() -> None:
            if self._session is not None and key not in self._declared:
                self._declared[key] = declare(self._session)

        self.later(begin)


def _at_once(call: Callable[[Any], None], end: Callable[[], None] | None = None) -> Any:
    """Return a handler in Zenoh's own thread: arrivals on all keys stay in order.

    By default each subscriber has a thread, and one overtakes the other.
    """
    return zenoh.handlers.Callback(call, end, indirect=False)


def _set(opened: asyncio.Future[zenoh.Session], session: zenoh.Session) -> None:
    if opened.cancelled():
        threading.Thread(target=session.close, daemon=True).start()
    else:
        opened.set_result(session)


def _fail(opened: asyncio.Future[zenoh.Session], error: zenoh.ZError) -> None:
    if not opened.cancelled():
        opened.set_exception(error)
