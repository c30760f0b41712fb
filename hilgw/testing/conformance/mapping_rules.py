"""Rules for the description of an adapter, and for the mapping of Webots' fields it documents."""

import dataclasses
from typing import Any

from hilgw.adapters.base import Mapped, Transmission, line_of
from hilgw.medium.packet import BROADCAST
from hilgw.plugins import new_air
from hilgw.testing.conformance.codec_rules import CodecRules
from hilgw.testing.conformance.simulated_rules import PayloadRules
from hilgw.testing.conformance.simulation import Simulation, guarded
from hilgw.testing.conformance.subject import Vector, require, shown

TYPES = ("radio", "serial", "infra-red")
MAPS = ("exact", "approximate", "cannot")
FIELDS = ("channel", "range", "baudRate", "byteSize", "bufferSize")  # each of them is documented
TOLERANCE = 0.045  # two UARTs with this difference still communicate
LINES = (("none", 1), ("even", 1), ("odd", 1), ("none", 2))
RULE = "mapping of {}"


class MappingRules(CodecRules, PayloadRules):
    """The adapter behaves as documented in `limits.mapping`."""

    def test_adapter_describes_itself(self) -> None:
        """Check that kind, type, summary, limits and settings are complete for the pages."""
        adapter, rule = self.adapter, "the adapter describes itself"
        limits = adapter.limits
        kind = adapter.kind
        require(kind.isidentifier() and kind.islower(), rule, f"kind {kind!r}", "a lower-case name")
        require(adapter.type in TYPES, rule, f"type {adapter.type!r}", f"one of {TYPES}")
        summary = adapter.summary
        short = bool(summary.strip()) and not summary.endswith(".")
        require(short, rule, f"summary {summary!r}", "a few words, no full stop")
        require(
            limits.payload >= 1 and limits.window >= 1 and limits.channels.strip(),
            rule,
            limits,
            "limits: payload and window at least 1, channels as text",
        )
        rates = all(type(rate) is int and rate > 0 for rate in limits.rates)
        rates = rates and list(limits.rates) == sorted(set(limits.rates)) and limits.rates != ()
        require(rates, rule, f"limits.rates {limits.rates}", "UART rates in bit/s, ascending")
        self._check_settings(rule)

    def _check_settings(self, rule: str) -> None:
        settings = self.adapter.Settings
        require(
            _is_frozen_dataclass(settings),
            rule,
            f"Settings is {settings!r}",
            "a frozen dataclass",
        )
        for field in dataclasses.fields(settings):
            documented = bool(str(field.metadata.get("doc", "")).strip())
            expected = 'NAME: type = setting("what it is", ...)'
            require(documented, rule, f"Settings.{field.name} has no doc", expected)
        problems = list(self.adapter.check(self.adapter_settings(), self.station_settings()))
        expected = "no problem with the settings of the test"
        require(not problems, rule, f"check() finds {shown(problems)}", expected)

    def test_mapping_is_documented(self) -> None:
        """Check that each field is documented as exact, approximate or cannot, and how.

        The fields are channel, range, baudRate, byteSize and bufferSize.
        """
        for field in FIELDS:
            self._mapped(field)
        for mapped in self.adapter.limits.mapping:
            rule = RULE.format(mapped.field)
            require(mapped.maps in MAPS, rule, f"maps {mapped.maps!r}", f"one of {MAPS}")
            require(mapped.how.strip(), rule, "no text", "how: the effect of the field")

    def _mapped(self, field: str) -> Mapped:
        mapping = self.adapter.limits.mapping
        entries = [each for each in mapping if field in map(str.strip, each.field.split(","))]
        listed = ", ".join(each.field for each in mapping) or "nothing"
        expected = f'Mapped("{field}", "exact" | "approximate" | "cannot", "how")'
        require(entries, RULE.format(field), f"limits.mapping has {listed}", expected)
        return entries[0]

    # --- each field -------------------------------------------------------------------------------

    def test_channel_mapping(self) -> None:
        """Check that a packet arrives on its channel.

        A channel outside session.channels is refused; -1 goes to all channels, unless documented
        otherwise.
        """
        if self._mapped("channel").maps == "cannot":
            return
        rule = RULE.format("channel")
        simulation = self._pair()
        data = next(self._numbered(1))
        channels = simulation.near.session.channels
        tried = {self.station_settings().channel, *self.channels}
        tried |= {self._channel(vector) for vector in self.vectors} - {BROADCAST}
        for channel in sorted(tried):
            got = self._arrives(simulation, data, rule, channel)
            expected = f"received on channel {channel}"
            require(got.channel == channel, rule, f"received on channel {got.channel}", expected)
        if channels is not None:
            foreign = next(number for number in range(1, 10_000) if number not in channels)
            self._is_refused(simulation, data, rule, foreign)
        documented = [m.maps for m in self.adapter.limits.mapping if m.field == "channel -1"]
        if "cannot" in documented:
            self._is_refused(simulation, data, RULE.format("channel -1"), BROADCAST)
        else:
            self._arrives(simulation, data, RULE.format("channel -1"), BROADCAST)

    def test_range_mapping(self) -> None:
        """Check that a packet's bytes do not depend on a range that is documented as cannot."""
        if self._mapped("range").maps != "cannot":
            return
        data = next(self._numbered(1))
        sent = []
        for reach in (-1.0, 0.5):
            session, now = self._ready_session()
            packet = dataclasses.replace(self._packet(Vector(data=data)), range=reach)
            answer = session.send(packet, now)
            sent.append(answer.data if isinstance(answer, Transmission) else answer)
        require(
            sent[0] == sent[1],
            RULE.format("range"),
            f"without range {shown(sent[0])}, with 0.5 m {shown(sent[1])}",
            "the same bytes: range is documented as cannot",
        )

    def test_baud_rate_mapping(self) -> None:
        """Check the mock at each of limits.rates that check() accepts with these settings."""
        if self._mapped("baudRate").maps != "exact":
            return
        rule = RULE.format("baudRate")
        accepted = 0
        for rate in self.adapter.limits.rates:
            common = self.station_settings(baudRate=rate)
            if list(self.adapter.check(self.adapter_settings(), common)):
                continue
            accepted += 1
            got = self._mock_of(common).baud_rate
            near = abs(got - rate) <= TOLERANCE * rate
            require(near, rule, f"the mock runs at {got} bit/s", f"{rate} bit/s, as configured")
        require(accepted, rule, "check() refuses all of limits.rates", "at least one accepted")

    def test_byte_size_mapping(self) -> None:
        """Check that parity and stop bits are refused by check(), or used by the mock."""
        if self._mapped("byteSize").maps != "exact":
            return
        rule = RULE.format("byteSize")
        for parity, stop_bits in LINES:
            common = self.station_settings(parity=parity, stop_bits=stop_bits, byteSize=None)
            if list(self.adapter.check(self.adapter_settings(), common)):
                require((parity, stop_bits) != LINES[0], rule, "8N1 is refused", "accepted")
                continue
            got, expected = self._mock_of(common).bits_per_byte, line_of(common)[0].byteSize
            require(
                got == expected,
                rule,
                f"parity {parity}, {stop_bits} stop bits: {got} bits per byte in the mock",
                f"{expected} bits, or a problem from check() if the hardware cannot do this",
            )

    def test_buffer_size_mapping(self) -> None:
        """Check that bufferSize bytes are queued while the port is lost, and sent after it."""
        packets = list(self._numbered(6))
        size = len(packets[0])
        rule = RULE.format("bufferSize")
        simulation = Simulation(self, pair=not self._echoes(), bufferSize=5 * size + size // 2)
        near, far = simulation.near, simulation.far
        near.close()
        seen = len(far.received)
        for data in packets:
            near.send(data)
        fit = near.station.queued
        expected = f"5 packets of {size} B in {near.common.bufferSize} B"
        require(fit == 5, rule, f"{fit} packets queued", expected)
        near.open()
        simulation.run(
            self.ready_s + 5 * self.arrival_s,
            lambda: near.station.queued == 0 and len(far.received) - seen >= 5,
        )
        got = [packet.data for packet in far.received[seen:]]
        require(got == packets[:5], rule, f"received {shown(got)}", shown(packets[:5]))

    def _mock_of(self, common: Any) -> Any:
        def make() -> Any:
            spec = self.adapter.mock(self.adapter_settings(), common)
            return self.make_mock(spec, "line", new_air(), (0.0, 0.0, 0.0))

        return guarded(make)


def _is_frozen_dataclass(settings: Any) -> bool:
    of_any: Any = settings  # the type checker does not know the parameters of a dataclass
    return dataclasses.is_dataclass(settings) and bool(of_any.__dataclass_params__.frozen)
