"""The server of the metrics: what Prometheus reads, who may, and what attacks it survives."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hilgw.engine.listening import Listening
from hilgw.engine.reporting.metrics_server import DEADLINE_NS, LIMITS, REQUEST_BYTES, MetricsServer
from hilgw.protocols.gateway.metrics import text_of
from hilgw.security.access import Access, TokenCheck
from hilgw.testing.sim import Clock
from tests.cli.output.test_federation import gateway
from tests.scenarios import scenario_of

TOKEN = "t" * 32
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
HOSTILE = 'a"b\\c\nd'


def status(**more: Any) -> dict[str, Any]:
    counts = {"received_bytes": 10, "sent_bytes": 20, "received_packets": 1, "sent_packets": 2}
    port = {"state": "up", "since_s": 2.5, **counts, "last_byte_s": None}
    rover = {"armed": True, "latched": None, "bodies": {"body": "down"}}
    rover |= {"controller": {"runs": False}, "late_steps": {"count": 3}}
    return {
        "version": "1",
        "config": "x.yaml",
        "uptime_s": 3.5,
        "memory_bytes": 1 << 30,
        "ports": {HOSTILE: port},
        "robots": {"rover": rover},
        "clients": {"control socket": 1},
        "losses": {"refused": {"overflow": 4}},
        "latency_bounds_s": [0.00001, 1.0],
        "latency": {"air": {"xb": {"count": 3, "sum_s": 2.25, "buckets": [1, 2]}}},
        **more,
    }


def test_prometheus_reads_each_family_once_for_all_gateways() -> None:
    text = text_of([({"pid": "1"}, status()), ({"pid": "2"}, status(config=HOSTILE))])
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation and family.type != "unknown" for family in families)
    values = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }
    one, two = ("pid", "1"), ("pid", "2")
    port = ("port", HOSTILE)
    assert values["hilgw_info", (("config", HOSTILE), two, ("version", "1"))] == 1
    assert values["hilgw_port_received_bytes_total", (one, port)] == 10
    assert values["hilgw_port_state_seconds", (one, port, ("state", "up"))] == 2.5
    assert ("hilgw_port_last_byte_seconds", (one, port)) not in values
    assert values["hilgw_resident_memory_bytes", (one,)] == 1 << 30
    assert values["hilgw_body_up", (("body", "body"), two, ("robot", "rover"))] == 0
    lost = (("kind", "refused"), one, ("reason", "overflow"))
    assert values["hilgw_lost_packets_total", lost] == 4
    hop = (("hop", "air"), ("part", "xb"), one)
    buckets = [
        values["hilgw_latency_seconds_bucket", tuple(sorted((*hop, ("le", bound))))]
        for bound in ("1e-05", "1.0", "+Inf")
    ]
    assert buckets == [1, 2, 3]
    assert values["hilgw_latency_seconds_sum", tuple(sorted(hop))] == 2.25
    assert values["hilgw_latency_seconds_count", tuple(sorted(hop))] == 3


def test_each_link_of_a_federation_has_its_metrics() -> None:
    others = {"bench": gateway(), "far": gateway(state="waiting", round_trip_ms=None)}
    text = text_of([({}, status(federation={"gateways": others}))])
    families = text_string_to_metric_families(text)
    values = {(s.name, s.labels.get("gateway")): s.value for each in families for s in each.samples}
    assert (values["hilgw_gateway_up", "bench"], values["hilgw_gateway_up", "far"]) == (1, 0)
    assert values["hilgw_link_sent_packets_total", "bench"] == 9
    assert values["hilgw_link_unsettled_packets", "bench"] == 0
    assert values["hilgw_link_missed_packets_total", "bench"] == 1
    assert values["hilgw_link_round_trip_seconds", "bench"] == 0.0004
    assert ("hilgw_link_round_trip_seconds", "far") not in values
    assert values["hilgw_link_clock_offset_seconds", "bench"] == -12.5


class Served:
    """A server on a loopback address, whose deadlines are on the fake clock."""

    def __init__(
        self,
        *,
        texts: Callable[[], Iterator[str]] = lambda: iter(["up ", "1\n"]),
        check: TokenCheck | None = None,
    ) -> None:
        self.clock = Clock()
        self.listening = Listening("127.0.0.1", 0, check_token=check)
        self.server = MetricsServer(self.listening, texts, self.clock)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.listening.port, limit=1 << 26)

    async def answer(self, request: bytes) -> bytes:
        """All that comes until the end of the connection."""
        reader, writer = await self.connect()
        writer.write(request)
        try:
            return await reader.read()
        finally:
            writer.close()


def served(attack: Callable[[Served], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        site = Served(**options)
        await site.server.start(lambda text: None)
        try:
            await attack(site)
        finally:
            site.server.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (GET, b"200 OK"),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", b"200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", b"404 "),
        (b"GET http://evil/metrics HTTP/1.1\r\n\r\n", b"404 "),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"405 "),
        (b"\x16\x03\x01\x00\xff\r\n\r\n", b"400 "),
        (b"GET /metrics\r\n\r\n", b"400 "),
        (b"\r\n\r\n", b"400 "),
        (b"GET /metrics HTTP/1.1\r\nA: " + b"x" * REQUEST_BYTES, b"431 "),
    ],
)
@scenario_of(served)
async def test_one_path_is_answered_alone(site: Served, /, request_: bytes, wanted: bytes) -> None:
    answer = await site.answer(request_)
    assert answer.startswith(b"HTTP/1.1 " + wanted)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}\r\n".encode() in head + b"\r\n"
    assert (body == b"up 1\n") is (wanted == b"200 OK")
    assert (await site.answer(GET)).startswith(b"HTTP/1.1 200")


@scenario_of(served)
async def test_the_time_for_a_line_grows_with_its_length_alone(site: Served, /) -> None:
    """With its square, this one would take an hour."""
    status, _ = site.server.answer(b"GET " + b"a" * 1_000_000 + b"\r\n\r\n", "127.0.0.1")
    assert status == 431


LONG = "\udcff" + "x" * 8_000_000  # of a file whose name is not valid UTF-8


@scenario_of(served, texts=lambda: iter([LONG]))
async def test_a_long_answer_comes_whole_and_a_request_in_pieces_is_one(site: Served, /) -> None:
    reader, writer = await site.connect()
    for byte in GET:
        writer.write(bytes((byte,)))
        await writer.drain()
    assert (await reader.read()).endswith(b"\r\n\r\n?" + LONG[1:].encode())
    writer.close()


def test_each_text_is_made_in_a_turn_of_its_own_and_none_for_a_client_that_left() -> None:
    turns: list[int] = []
    most = 1000

    def texts() -> Iterator[str]:
        for number in range(most):
            turn = len(turns)
            asyncio.get_running_loop().call_soon(turns.append, number)
            yield f"{turn == number}\n"

    async def pass_turns() -> int:
        for _ in range(50):
            await asyncio.sleep(0)
        return len(turns)

    async def check(site: Served) -> None:
        nonlocal most
        answer = await site.answer(GET)
        assert answer.endswith(b"\r\n\r\n" + b"True\n" * most)
        turns.clear()
        most = sys.maxsize
        _, writer = await site.connect()
        writer.write(GET)
        while not turns:
            await asyncio.sleep(0)
        writer.transport.abort()
        while await pass_turns() != await pass_turns():
            pass

    served(check, texts=texts)


@scenario_of(served)
async def test_a_slow_client_ends_after_its_time(site: Served, /) -> None:
    slow = [await site.connect() for _ in range(LIMITS.per_address)]
    slow[0][1].write(GET[:-1])
    site.clock.run(DEADLINE_NS)
    assert [await reader.read() for reader, _ in slow] == [b""] * LIMITS.per_address
    for _, writer in slow:
        writer.close()
    assert (await site.answer(GET)).startswith(b"HTTP/1.1 200")


GRAFANA = TokenCheck(Access([("grafana", "monitor", TOKEN)]), "monitor", lambda: 0)


@scenario_of(served, check=GRAFANA)
async def test_elsewhere_a_token_is_needed_which_may_only_read(site: Served, /) -> None:
    def with_header(header: str) -> bytes:
        return GET.replace(b"Host: x", header.encode())

    assert b"200 OK" in await site.answer(with_header(f"Authorization: Bearer {TOKEN}"))
    assert b"200 OK" in await site.answer(with_header(f"authorization:bearer {TOKEN}"))
    answer = await site.answer(GET)
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"WWW-Authenticate: Bearer" in answer
    hidden = with_header("Authorization: Bearer wrong").replace(b"/metrics", b"/any")
    for request in (with_header("Authorization: Basic x"), hidden):
        assert (await site.answer(request)).startswith(b"HTTP/1.1 401")
