"""Rules for packets through the mock and back, in simulated time: sizes, values, order."""

from functools import partial

from hilgw.adapters.base import CannotSend
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.broken_rule import broken, bytes_line, require, shown
from hilgw.testing.conformance.simulation import SimulatedStation, Simulation
from hilgw.testing.conformance.subject import ALL_VALUES, PIECE, Subject

SLOW, SILENCE_S = 300, 30.0
BYTE_S = 100 / SLOW  # of a packet, with what surrounds it and the answers to it
NO_FRAME = "no frame yet"


class PayloadRules(Subject):
    """A packet that fits arrives unchanged; any other is refused before it reaches the wire."""

    def test_payload_sizes(self) -> None:
        """Check packets of 0, 1, the longest and one more byte."""
        simulation = self._pair(bufferSize=-1)
        largest = self._largest()
        sizes = {0, 1, largest, largest + 1, *(self.sizes or ())}
        for size in sorted(sizes):
            self._passes_or_is_refused(simulation, self._payload(size), "payload sizes")

    def test_all_byte_values(self) -> None:
        """Check each of the 256 byte values, in packets of many values and of one value."""
        simulation = self._pair(bufferSize=-1)
        lengths = [size for size in (self.sizes or (PIECE,)) if size <= self._largest()]
        size = min(max(lengths, default=1), self._largest())
        for start in range(0, 256, size):
            mixed = (ALL_VALUES + ALL_VALUES)[start : start + size]
            if self.fits(mixed):
                self._arrives(simulation, mixed, "all byte values")
                continue
            for value in mixed:
                data = bytes((value,)) * min(self.sizes or (1,))
                self._passes_or_is_refused(simulation, data, "all byte values")

    def test_packets_keep_their_order(self) -> None:
        """Check that `burst` packets at once, in both directions, each arrive once, in order."""
        packets = list(self._numbered(self.burst))
        self._keep_order("packets keep their order", self._pair(bufferSize=-1), packets)

    def test_slow_line(self) -> None:
        """Check a line at 300 baud, or the next rate that the hardware has.

        The longest packet and others arrive, none is booked as refused, and no frame that comes in
        is called none.
        """
        lines = [self.station_settings(baudRate=each) for each in self.adapter.limits.rates]
        lines = [each for each in lines if each.baudRate >= SLOW]
        settings = self.adapter_settings()
        fits = (each for each in lines if not list(self.adapter.check(settings, each)))
        rate = next(fits, self.station_settings()).baudRate
        rule, simulation = f"slow line: {rate} baud", self._pair(bufferSize=-1, baudRate=rate)
        self._keep_order(rule, simulation, [self._payload(self._largest(), 1), *self._numbered(3)])
        simulation.run(SILENCE_S)
        for station in simulation.stations:
            got = [str(event) for event in station.session.events if NO_FRAME in str(event)]
            got += map(str, station.station.statistics.count.refused)
            require(not got, rule, shown(got), "what left, and may arrive, counts as delivered")

    def _keep_order(self, rule: str, simulation: Simulation, packets: list[bytes]) -> None:
        directions = [(simulation.near, simulation.far)]
        if simulation.near is not simulation.far:
            directions.append((simulation.far, simulation.near))
        for sender, receiver in directions:
            since, refused = len(receiver.received), len(sender.refusals)
            for data in packets:
                sender.send(data)
            limit = (self.arrival_s + max(map(len, packets)) * BYTE_S) * len(packets)
            simulation.run(limit, partial(_all_arrived, sender, receiver, since + len(packets)))
            simulation.run(self.pause_s + 1)
            got = [packet.data for packet in receiver.received[since:]]
            if got != packets:
                broken(
                    rule,
                    f"{len(got)} packets at the {receiver.name} station: {shown(got)}; refused: "
                    f"{shown(sender.refusals[refused:])}",
                    f"{len(packets)} packets: {shown(packets)}",
                )

    # --- one packet -------------------------------------------------------------------------------

    def _pair(self, **fields: int) -> Simulation:
        return Simulation(self, pair=not self._echoes(), **fields)

    def _passes_or_is_refused(self, simulation: Simulation, data: bytes, rule: str) -> None:
        if self.fits(data):
            self._arrives(simulation, data, rule)
        else:
            self._is_refused(simulation, data, rule)

    def _arrives(
        self,
        simulation: Simulation,
        data: bytes,
        rule: str,
        channel: int | None = None,
        *,
        back: bool = False,
    ) -> Packet:
        sender = simulation.far if back else simulation.near
        refused = len(sender.refusals)
        got = simulation.pass_on(data, channel, back=back)
        if [packet.data for packet in got] != [data]:
            refusals = sender.refusals[refused:]
            text = f"received {shown([packet.data for packet in got])}"
            broken(
                rule,
                f"{text}; refused: {shown(refusals)}" if refusals else text,
                f"{len(data)} B received by the other station, unchanged",
                bytes_line(data),
            )
        return got[0]

    def _is_refused(
        self, simulation: Simulation, data: bytes, rule: str, channel: int | None = None
    ) -> CannotSend:
        simulation.near.session.answer = None
        written = len(simulation.near.port.written)
        got = simulation.pass_on(data, channel)
        answer = simulation.near.session.answer
        more = (bytes_line(data), f"channel:  {channel}" if channel is not None else "")
        expected = "CannotSend, with its reason"
        if not isinstance(answer, CannotSend):
            broken(rule, f"send() returned {shown(answer)}", expected, *filter(None, more))
        require(not got, rule, f"received {shown([p.data for p in got])}", expected, *more)
        require(
            len(simulation.near.port.written) == written,
            rule,
            f"bytes for the hardware: {shown(bytes(simulation.near.port.written[written:]))}",
            "none for a packet that cannot be sent",
        )
        return answer


def _all_arrived(sender: SimulatedStation, receiver: SimulatedStation, count: int) -> bool:
    return sender.station.queued == 0 and len(receiver.received) >= count
