"""Gateways of a federation as processes on loopback, with a connection that can be cut."""

import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

NODE = Path(__file__).with_name("federation_node.py")
DEADLINE_S = 60.0
HOST = f"127.{os.getpid() >> 16 & 127 | 128}.{os.getpid() >> 8 & 255}.{os.getpid() & 255 | 1}"


def free_port() -> int:
    """Return a port of an address of this process alone."""
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], Any], name: str) -> None:
    """Wait for a condition; raise AssertionError."""
    end, pause = time.monotonic() + DEADLINE_S, threading.Event()
    while not condition():
        assert time.monotonic() < end, f"not within {DEADLINE_S:g} s: {name}"
        pause.wait(0.005)


class Node:
    """A federation_node.py. states: of the other gateways, and since when (monotonic, ns)."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        self.settings = {"name": name, **settings}
        self.states: dict[str, tuple[str, str, int]] = {}
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            [sys.executable, str(NODE), json.dumps(self.settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line = json.loads(text)
            if "gateway" in line:
                self.states[line["gateway"]] = line["state"], line["reason"], line["ns"]
            else:
                self._answers.put(line)

    def ask(self, word: str) -> Any:
        """Request `counts`, `pause` or `go`."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self._answers.get(timeout=DEADLINE_S).get("counts")

    def sees(self, name: str) -> bool:
        return self.states.get(name, ("", "", 0))[0] == "up"

    def end(self) -> dict[str, Any]:
        """Wait until it ends by itself; return its last counts."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        counts: dict[str, Any] = self._answers.get(timeout=DEADLINE_S)["counts"]
        self.process.wait(DEADLINE_S)
        return counts

    def signal(self, number: int) -> int:
        """Send a signal; return the time."""
        begin = time.monotonic_ns()
        self.process.send_signal(number)
        return begin

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with_errors_ignored(stream.close)


def with_errors_ignored(call: Callable[[], object]) -> None:
    try:
        call()
    except OSError:
        return


class Proxy:
    """TCP to an endpoint.

    After `hold` bytes wait, as where a cable is unplugged; after `cut` connections are reset, new
    ones too; after `heal` all is as before.
    """

    def __init__(self, port: int) -> None:
        self.server = socket.create_server((HOST, 0))
        self.port: int = self.server.getsockname()[1]
        self._to = port
        self._open = threading.Event()
        self._open.set()
        self._is_cut = False
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self.server.accept()
            except OSError:
                return
            self._open.wait()
            if self._is_cut:
                reset(one)
                continue
            try:
                other = socket.create_connection((HOST, self._to))
            except OSError:
                reset(one)
                continue
            self._ends += [one, other]
            for pair in ((one, other), (other, one)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                self._open.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            reset(one)
            reset(other)

    def hold(self) -> None:
        self._open.clear()

    def cut(self) -> None:
        self._is_cut = True
        ends, self._ends = self._ends, []
        for end in ends:
            reset(end)

    def heal(self) -> None:
        self._is_cut = False
        self._open.set()

    def close(self) -> None:
        self.heal()
        self.cut()
        self.server.close()


def reset(end: socket.socket) -> None:
    with_errors_ignored(
        lambda: end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    )
    with_errors_ignored(lambda: end.shutdown(socket.SHUT_RDWR))
    with_errors_ignored(end.close)


class Lab:
    """Gateways a, b and c, each connected with each; b through proxies."""

    def __init__(self, rate: float, size: int = 1) -> None:
        self._more = {"rate": rate, "size": size}
        self.ports = {"a": free_port(), "c": free_port()}
        self.proxies = [Proxy(port) for port in self.ports.values()]
        self.nodes: dict[str, Node] = {}
        for name in ("b", "a", "c"):  # in any order
            self.start(name)
        self.wait_up()

    def start(self, name: str) -> None:
        def at(*ports: int) -> list[str]:
            return [f"tcp/{HOST}:{port}" for port in ports]

        ends = {
            "a": {"listen": at(self.ports["a"])},
            "b": {"connect": at(*(each.port for each in self.proxies))},
            "c": {"listen": at(self.ports["c"]), "connect": at(self.ports["a"])},
        }
        self.nodes[name] = Node(name, **self._more, **ends[name])

    def pairs(self) -> Iterable[tuple[Node, Node]]:
        nodes = self.nodes.values()
        return [(one, other) for one in nodes for other in nodes if one is not other]

    def wait_up(self) -> None:
        wait_for(lambda: all(one.sees(o.name) for one, o in self.pairs()), "all gateways up")

    def lost_after(self, begin_ns: int, name: str = "b") -> float:
        """Return the seconds until all others saw that it is gone."""
        others = [each for each in self.nodes.values() if each.name != name]

        def is_seen() -> bool:
            return all(each.states[name][2] > begin_ns and not each.sees(name) for each in others)

        wait_for(is_seen, f"{name} is lost")
        return max(each.states[name][2] for each in others) / 1e9 - begin_ns / 1e9

    def kill(self) -> float:
        """Kill b and start it anew; return the seconds until it was seen."""
        node = self.nodes["b"]
        took = self.lost_after(node.signal(signal.SIGKILL))
        node.close()
        self.start("b")
        self.wait_up()
        return took

    def freeze(self) -> float:
        """Freeze b until it is seen."""
        node = self.nodes["b"]
        took = self.lost_after(node.signal(signal.SIGSTOP))
        node.signal(signal.SIGCONT)
        self.wait_up()
        return took

    def partition(self, *, silent: bool) -> float:
        """Separate b, so that nothing comes to it or from it, until all have seen that."""
        begin = time.monotonic_ns()
        for proxy in self.proxies:
            proxy.hold() if silent else proxy.cut()
        took = self.lost_after(begin)
        b = self.nodes["b"]
        wait_for(lambda: not (b.sees("a") or b.sees("c")), "b is alone")
        for proxy in self.proxies:
            proxy.heal()
        self.wait_up()
        return took

    def check(self) -> dict[str, int]:
        """Check that nothing came twice or out of order; return the counts of all.

        Both ends of each link count the same, when all was confirmed; then they continue.
        """
        for node in self.nodes.values():
            node.ask("pause")

        def counts() -> dict[str, Any]:
            return {name: node.ask("counts") for name, node in self.nodes.items()}

        def is_settled() -> bool:
            latest.update(counts())
            return all(
                link["unsettled"] == 0
                for each in latest.values()
                for name, link in each["gateways"].items()
                if name in self.nodes
            )

        latest: dict[str, Any] = {}
        wait_for(is_settled, "all packets are confirmed")
        total = {"sent": 0, "delivered": 0, "lost": 0}
        for name, count in latest.items():
            assert (count["doubled"], count["disordered"], count["violations"]) == (0, 0, []), count
            for other in latest.keys() - {name}:
                out = count["gateways"][other]
                into = latest[other]["gateways"][name]
                assert out["sent"] == out["delivered"] + out["lost"], (name, other, out)
                assert out["delivered"] == into["received"] == into["entered"], (name, other, out)
                assert out["lost"] == into["missed"], (name, other, out, into)
                station = count["stations"][f"radio@{other}"]
                lost = sum(station["refused"].values())
                assert station["accepted"] == station["delivered"] + lost, (name, station)
                total["sent"] += station["accepted"]
                total["delivered"] += station["delivered"]
                total["lost"] += lost
        for node in self.nodes.values():
            node.ask("go")
        return total

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
        for proxy in self.proxies:
            proxy.close()
