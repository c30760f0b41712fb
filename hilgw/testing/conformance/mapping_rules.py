"""Rules for what an adapter says of itself, and how Webots' fields map: as it is documented."""

from __future__ import annotations

import dataclasses
from typing import Any

from hilgw.adapters.base import Mapped, Transmission, line_of
from hilgw.medium.packet import BROADCAST
from hilgw.plugins import new_air
from hilgw.testing.conformance.broken_rule import require, shown
from hilgw.testing.conformance.codec_rules import CodecRules
from hilgw.testing.conformance.payload_rules import PayloadRules
from hilgw.testing.conformance.simulation import Simulation, guarded
from hilgw.testing.conformance.subject import Vector

TYPES = ("radio", "serial", "infra-red")
MAPS = ("exact", "approximate", "cannot")
FIELDS = ("channel", "range", "baudRate", "byteSize", "bufferSize")  # each of them is documented
TOLERANCE = 0.045  # two UARTs this far apart still understand each other
LINES = (("none", 1), ("even", 1), ("odd", 1), ("none", 2))
RULE = "mapping of {}"


class MappingRules(CodecRules, PayloadRules):
    """What stands in `limits.mapping` is so."""

    def test_adapter_describes_itself(self) -> None:
        """Kind, type, summary, limits and settings have what the generated pages are made of."""
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
            "limits: payload and window from 1, channels in words",
        )
        rates = all(type(rate) is int and rate > 0 for rate in limits.rates)
        rates = rates and list(limits.rates) == sorted(set(limits.rates)) and limits.rates != ()
        require(rates, rule, f"limits.rates {limits.rates}", "UART rates in bit/s, in order")
        self._check_settings(rule)

    def _check_settings(self, rule: str) -> None:
        settings = self.adapter.Settings
        require(
            dataclasses.is_dataclass(settings) and settings.__dataclass_params__.frozen,  # type: ignore[attr-defined]
            rule,
            f"Settings is {settings!r}",
            "a frozen dataclass",
        )
        for field in dataclasses.fields(settings):
            documented = bool(str(field.metadata.get("doc", "")).strip())
            wanted = 'NAME: type = setting("what it is", ...)'
            require(documented, rule, f"Settings.{field.name} without words", wanted)
        problems = list(self.adapter.check(self._settings(), self._common()))
        wanted = "no problem: these settings are those of the test"
        require(not problems, rule, f"check() finds {shown(problems)}", wanted)

    def test_mapping_is_documented(self) -> None:
        """Channel, range, baudRate, byteSize and bufferSize: exact, approximate or cannot, and
        how."""
        for field in FIELDS:
            self._mapped(field)
        for mapped in self.adapter.limits.mapping:
            rule = RULE.format(mapped.field)
            require(mapped.maps in MAPS, rule, f"maps {mapped.maps!r}", f"one of {MAPS}")
            require(mapped.how.strip(), rule, "no words", "how: what becomes of it")

    def _mapped(self, field: str) -> Mapped:
        mapping = self.adapter.limits.mapping
        found = [each for each in mapping if field in map(str.strip, each.field.split(","))]
        listed = ", ".join(each.field for each in mapping) or "nothing"
        wanted = f'Mapped("{field}", "exact" | "approximate" | "cannot", "how")'
        require(found, RULE.format(field), f"limits.mapping has {listed}", wanted)
        return found[0]

    # --- each field -------------------------------------------------------------------------------

    def test_channel_mapping(self) -> None:
        """A packet arrives on the channel it was sent on; one the session does not listen to is
        refused; -1 goes to all, unless documented otherwise."""
        if self._mapped("channel").maps == "cannot":
            return
        rule = RULE.format("channel")
        world = self._pair()
        data = next(self._numbered(1))
        channels = world.near.session.channels
        tried = {self._common().channel, *self.channels}
        tried |= {self._channel(vector) for vector in self.vectors} - {BROADCAST}
        for channel in sorted(tried):
            came = self._arrives(world, data, rule, channel)
            wanted = f"a packet sent on channel {channel} heard on it"
            require(came.channel == channel, rule, f"heard on {came.channel}", wanted)
        if channels is not None:
            foreign = next(number for number in range(1, 10_000) if number not in channels)
            self._is_refused(world, data, rule, foreign)
        documented = [m.maps for m in self.adapter.limits.mapping if m.field == "channel -1"]
        if "cannot" in documented:
            self._is_refused(world, data, RULE.format("channel -1"), BROADCAST)
        else:
            self._arrives(world, data, RULE.format("channel -1"), BROADCAST)

    def test_range_mapping(self) -> None:
        """Where a range cannot be kept, a packet's bytes do not depend on it."""
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
            f"without limit {shown(sent[0])}, with 0.5 m {shown(sent[1])}",
            "the same bytes: it is documented as cannot",
        )

    def test_baud_rate_mapping(self) -> None:
        """The mock runs at each of limits.rates that check() takes with these settings."""
        if self._mapped("baudRate").maps != "exact":
            return
        rule = RULE.format("baudRate")
        taken = 0
        for rate in self.adapter.limits.rates:
            common = self._common(baudRate=rate)
            if list(self.adapter.check(self._settings(), common)):
                continue
            taken += 1
            came = self._mock_of(common).baud_rate
            near = abs(came - rate) <= TOLERANCE * rate
            require(near, rule, f"the mock runs at {came} bit/s", f"{rate} bit/s, as configured")
        require(taken, rule, "check() refuses every one of limits.rates", "some of them taken")

    def test_byte_size_mapping(self) -> None:
        """Parity and stop bits: refused by check(), or the mock's bytes are as long as the
        line's."""
        if self._mapped("byteSize").maps != "exact":
            return
        rule = RULE.format("byteSize")
        for parity, stop_bits in LINES:
            common = self._common(parity=parity, stop_bits=stop_bits, byteSize=None)
            if list(self.adapter.check(self._settings(), common)):
                require((parity, stop_bits) != LINES[0], rule, "8N1 is refused", "taken")
                continue
            came, wanted = self._mock_of(common).bits_per_byte, line_of(common)[0].byteSize
            require(
                came == wanted,
                rule,
                f"parity {parity}, {stop_bits} stop: the mock's bytes have {came} bits",
                f"{wanted} bits, or a problem from check(): the hardware has no such line",
            )

    def test_buffer_size_mapping(self) -> None:
        """bufferSize bytes wait while the port is away, no more; then all of them go out."""
        packets = list(self._numbered(6))
        size = len(packets[0])
        rule = RULE.format("bufferSize")
        world = Simulation.ready(self, pair=not self._echoes(), bufferSize=5 * size + size // 2)
        near, far = world.near, world.far
        near.close()
        seen = len(far.heard)
        for data in packets:
            near.send(data)
        fit = near.station.queued
        wanted = f"5 of {size} B, in {near.common.bufferSize} B"
        require(fit == 5, rule, f"{fit} packets wait", wanted)
        near.open()
        world.run_until(
            lambda: near.station.queued == 0 and len(far.heard) - seen >= 5,
            self.ready_s + 5 * self.arrival_s,
        )
        came = [packet.data for packet in far.heard[seen:]]
        require(came == packets[:5], rule, f"heard {shown(came)}", shown(packets[:5]))

    def _mock_of(self, common: Any) -> Any:
        """The mock for these settings, as the adapter names it."""

        def make() -> Any:
            spec = self.adapter.mock(self._settings(), common)
            return self.make_mock(spec, "line", new_air(), (0.0, 0.0, 0.0))

        return guarded(make)
