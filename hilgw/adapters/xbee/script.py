"""What is said to an XBee to find it, check it against the settings and set what they ask.

Nothing but reads is asked before the module is known to be the one the settings name. Source:
Digi's user guides, "AT commands".
"""

from __future__ import annotations

from hilgw.adapters.base import Notice, StationSettings
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee.dialects import Dialect
from hilgw.adapters.xbee.frames import AtResponse
from hilgw.adapters.xbee.modules import FIRMWARES, RAW_802, ZIGBEE, Module, hardware_of, runs
from hilgw.adapters.xbee.registers import Wanted, wanted_registers
from hilgw.adapters.xbee.settings import ModuleChannel, XBeeSettings
from hilgw.adapters.xbee.steps import AwaitNetwork, Script
from hilgw.errors import MismatchError, PeerError

# RF data in bytes, plain and encrypted, where the module does not know NP.
_PAYLOAD = {"802.15.4": (100, 95), "DigiMesh": (73, 65), "Zigbee": (84, 66)}
ZIGBEE_BROADCAST = (92, 74)  # a broadcast is never cut into fragments, whatever NP says
LOOK_S = 2.0  # how often AI is asked while the module looks for its network


class Conversation:
    """The script for these settings, in this dialect."""

    def __init__(self, settings: XBeeSettings, common: StationSettings, dialect: Dialect) -> None:
        self._settings = settings
        self._common = common
        self._dialect = dialect

    def converse(self) -> Script[Module]:
        """Find, check, set, verify."""
        yield from self._dialect.find()
        try:
            module = yield from self._examine()
        except MismatchError:
            yield from self._dialect.leave()
            raise
        yield from self._dialect.leave()
        return module

    def _examine(self) -> Script[Module]:
        hv = yield from self._read("HV")
        vr = yield from self._read("VR")
        sh = yield from self._read("SH")
        sl = yield from self._read("SL")
        serial = f"{sh:08X}{sl:08X}"
        hardware, protocol = self._check_identity(hv, vr, serial)
        values = yield from self._adjust()
        if protocol == ZIGBEE:
            yield from self._join(values)
        payload, broadcast = yield from self._payload_limits(protocol)
        return Module(
            hardware,
            serial,
            values.get("MY", 0xFFFE),
            values.get("CH", -1),
            values["ID"],
            payload,
            protocol,
            broadcast,
            explicit=bool(values.get("AO")) and protocol != RAW_802,
        )

    def _ask_for(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse]:
        """One command, answered; PeerError when the answer never comes."""
        answer = yield from self._dialect.ask(name, value, queued)
        if answer is None:
            raise PeerError(f"the module stopped answering at AT{name}", fix="check the wiring")
        return answer

    def _read(self, name: str) -> Script[int]:
        answer = yield from self._ask_for(name)
        if not answer.ok or not answer.value:
            text = words.at_status_text(answer.status)
            raise PeerError(f"the module answers AT{name} with: {text}", fix="update its firmware")
        return int.from_bytes(answer.value, "big")

    def _check_identity(self, hv: int, vr: int, serial: str) -> tuple[str, str]:
        """Series and protocol; MismatchError when it is not the module the settings name."""
        series, protocol = hardware_of(hv, vr)
        expected = self._settings.module.upper()
        if expected and serial != expected:
            raise MismatchError(
                f"this is module {serial}, the settings name {expected}",
                fix="plug in the other one, or correct `module`",
            )
        named, fits = FIRMWARES[self._settings.firmware]
        if protocol not in fits:
            found = f"{protocol} firmware" if protocol else "firmware that is not known"
            raise MismatchError(
                f"{series} with {found} (HV {hv:04X}, VR {vr:04X}); {named} is needed",
                fix=self._firmware_cure(hv, protocol, named),
            )
        return series, protocol

    def _firmware_cure(self, hv: int, protocol: str, named: str) -> str:
        matching = [key for key, (_, these) in FIRMWARES.items() if protocol in these]
        here = f"set firmware: {matching[0]}, " if matching else ""
        if runs(hv, named):
            return f"{here}load the {named} firmware with XCTU, or use another module"
        return f"{here}or use another module: {named} firmware for this one is not known"

    # --- registers ----------------------------------------------------------------------------

    def _adjust(self) -> Script[dict[str, int]]:
        """Set what the settings ask and the module has otherwise; the values it has then."""
        registers = wanted_registers(self._settings, self._common)
        values: dict[str, int] = {}
        for name in registers.read:
            if name in registers.optional:
                answer = yield from self._ask_for(name)
                if answer.ok and answer.value:
                    values[name] = int.from_bytes(answer.value, "big")
            else:
                values[name] = yield from self._read(name)
        self._check_channel(registers, values)
        changed = [name for name, want in registers.wanted.items() if not want.fits(values[name])]
        for name in changed:
            want = registers.wanted[name]
            answer = yield from self._ask_for(name, want.value.to_bytes(want.width, "big"))
            self._must(answer, f"{name} = {want.value:X}")
        if changed:
            self._must((yield from self._ask_for("AC", queued=False)), "AC")
        for name in changed:
            values[name] = yield from self._read(name)
            if not registers.wanted[name].fits(values[name]):
                raise MismatchError(f"the module keeps {name} = {values[name]:X}")
        if changed:
            list_ = ", ".join(f"{name} = {values[name]:X}" for name in changed)
            yield Notice(f"module set to {list_}, until it restarts (ATWR would keep it)")
        return values

    def _check_channel(self, registers: Wanted, values: dict[str, int]) -> None:
        missing = [name for name in registers.wanted if name not in values]
        if missing:
            raise MismatchError(
                f"this module hops and has no {missing[0]}, so mapping module_channel cannot be",
                fix="use mapping: {by: header} or {by: destination, ...}",
            )

    def _must(self, answer: AtResponse, what: str) -> None:
        if not answer.ok:
            raise MismatchError(
                f"the module refuses {what}: {words.at_status_text(answer.status)}",
                fix="use a value its data sheet allows",
            )

    # --- the network --------------------------------------------------------------------------

    def _join(self, values: dict[str, int]) -> Script[None]:
        """Wait until the module is part of a Zigbee network; what it has been given there."""
        said: int | None = None
        while state := (yield from self._read("AI")):
            if state != said:
                said = state
                yield Notice(
                    f"not in a network yet: {words.association_text(state)} (AI = {state:02X}); "
                    "waiting for it to join",
                    once=False,
                )
            yield AwaitNetwork(LOOK_S)
        for name, register in (("MY", "MY"), ("CH", "CH"), ("ID", "OP")):
            values[name] = yield from self._read(register)
        by_channel = isinstance(self._settings.mapping, ModuleChannel)
        if by_channel and values["CH"] != self._common.channel:
            raise MismatchError(
                f"the Zigbee network is on CH {values['CH']:02X}, which is channel {values['CH']}, "
                f"the settings say {self._common.channel}",
                fix=f"set channel: {values['CH']}, or mapping: {{by: header}}",
            )

    def _payload_limits(self, protocol: str) -> Script[tuple[int, int]]:
        """Bytes to one module and to all: NP, or by the data sheet where NP is not known or does
        not say it. There the limit depends on encryption (EE)."""
        answer = yield from self._ask_for("NP")
        limit = int.from_bytes(answer.value, "big") if answer.ok else 0
        if limit and protocol != ZIGBEE:
            return limit, limit
        encrypts = yield from self._ask_for("EE")
        encrypted = encrypts.ok and any(encrypts.value)
        limit = limit or _PAYLOAD.get(protocol, _PAYLOAD["DigiMesh"])[encrypted]
        if protocol != ZIGBEE:
            return limit, limit
        return limit, min(limit, ZIGBEE_BROADCAST[encrypted])
