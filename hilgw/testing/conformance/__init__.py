"""The rules every adapter keeps: a test inherits them, and names what they are tried on.

    class TestFoo(AdapterConformance):
        adapter = ADAPTER
        settings = {"power_dbm": 10}
        vectors = (Vector(data=b"ping", wire=bytes.fromhex("7e 04 70 69 6e 67 b2")),)

Each rule says, when it is broken, which one it is, what came, what was wanted and on which bytes.
`hilgw.testing.conformance.subject.Subject` has all that may be named.
"""

from __future__ import annotations

from hilgw.testing.conformance.live_rules import LiveRules
from hilgw.testing.conformance.mapping_rules import MappingRules
from hilgw.testing.conformance.trouble_rules import TroubleRules


class AdapterConformance(MappingRules, TroubleRules, LiveRules):
    """All rules. A subclass with a name that begins with Test is found by pytest."""
