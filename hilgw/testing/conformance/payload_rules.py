"""Rules for packets through the mock and back, in simulated time: sizes, values, order."""

from __future__ import annotations

from hilgw.adapters.base import CannotSend
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.broken_rule import broken, bytes_line, require, shown
from hilgw.testing.conformance.simulation import Simulation
from hilgw.testing.conformance.subject import ALL_VALUES, PIECE, Subject


class PayloadRules(Subject):
    """What fits arrives unchanged, what does not fit is refused before it reaches the wire."""

    def test_payload_sizes(self) -> None:
        """Packets of 0, 1, the longest and one more byte."""
        world = self._pair(bufferSize=-1)
        largest = self._largest()
        sizes = {0, 1, largest, largest + 1, *(self.sizes or ())}
        for size in sorted(sizes):
            self._passes_or_is_refused(world, self._payload(size), "payload sizes")

    def test_all_byte_values(self) -> None:
        """Each of the 256 values, in packets of many and in packets of one."""
        world = self._pair(bufferSize=-1)
        lengths = [size for size in (self.sizes or (PIECE,)) if size <= self._largest()]
        size = min(max(lengths, default=1), self._largest())
        for start in range(0, 256, size):
            mixed = (ALL_VALUES + ALL_VALUES)[start : start + size]
            if self.fits(mixed):
                self._arrives(world, mixed, "all byte values")
                continue
            for value in mixed:
                data = bytes((value,)) * min(self.sizes or (1,))
                self._passes_or_is_refused(world, data, "all byte values")

    def test_packets_keep_their_order(self) -> None:
        """`burst` packets at once, both ways: all arrive, once each, in their order."""
        world = self._pair(bufferSize=-1)
        packets = list(self._numbered(self.burst))
        ways = [(world.near, world.far)]
        if world.near is not world.far:
            ways.append((world.far, world.near))
        for sender, hearer in ways:
            since, refused = len(hearer.heard), len(sender.refusals)
            for data in packets:
                sender.send(data)
            limit = self.arrival_s * len(packets)
            world.run_until(
                lambda s=sender, h=hearer, n=since: (  # type: ignore[misc]
                    s.station.queued == 0 and len(h.heard) - n >= len(packets)
                ),
                limit,
            )
            world.run(self.pause_s + 1)
            came = [packet.data for packet in hearer.heard[since:]]
            if came != packets:
                broken(
                    "packets keep their order",
                    f"{len(came)} packets at the {hearer.name} station: {shown(came)}; refused: "
                    f"{shown(sender.refusals[refused:])}",
                    f"{len(packets)} packets: {shown(packets)}",
                )

    # --- one packet -------------------------------------------------------------------------------

    def _pair(self, **fields: int) -> Simulation:
        return Simulation.ready(self, pair=not self._echoes(), **fields)

    def _passes_or_is_refused(self, world: Simulation, data: bytes, rule: str) -> None:
        if self.fits(data):
            self._arrives(world, data, rule)
        else:
            self._is_refused(world, data, rule)

    def _arrives(
        self,
        world: Simulation,
        data: bytes,
        rule: str,
        channel: int | None = None,
        *,
        back: bool = False,
    ) -> Packet:
        """The packet is heard on the other side, once and unchanged."""
        sender = world.far if back else world.near
        refused = len(sender.refusals)
        came = world.pass_on(data, channel, back=back)
        if [packet.data for packet in came] != [data]:
            said = sender.refusals[refused:]
            what = f"heard {shown([packet.data for packet in came])}"
            broken(
                rule,
                f"{what}; refused: {shown(said)}" if said else what,
                f"{len(data)} B heard on the other side, unchanged",
                bytes_line(data),
            )
        return came[0]

    def _is_refused(
        self, world: Simulation, data: bytes, rule: str, channel: int | None = None
    ) -> CannotSend:
        """The session says, of the packet, that it can never go out."""
        world.near.session.answer = None
        written = len(world.near.port.written)
        came = world.pass_on(data, channel)
        answer = world.near.session.answer
        more = (bytes_line(data), f"channel: {channel}" if channel is not None else "")
        wanted = "CannotSend, with its reason"
        if not isinstance(answer, CannotSend):
            broken(rule, f"send() gave {shown(answer)}", wanted, *filter(None, more))
        require(not came, rule, f"heard {shown([p.data for p in came])}", wanted, *more)
        require(
            len(world.near.port.written) == written,
            rule,
            f"bytes for the hardware: {shown(bytes(world.near.port.written[written:]))}",
            "none for a packet that cannot go",
        )
        return answer
