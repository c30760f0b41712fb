"""The rules that every adapter keeps: a test inherits them and declares adapter and vectors.

    class TestFoo(AdapterConformance):
        adapter = ADAPTER
        settings = {"power_dbm": 10}
        vectors = (Vector(data=b"ping", wire=bytes.fromhex("7e 04 70 69 6e 67 b2")),)

A broken rule reports its name, the actual and the expected result, and the bytes.
`hilgw.testing.conformance.subject.Subject` has all attributes of a test.
"""

from hilgw.testing.conformance.live_rules import LiveRules
from hilgw.testing.conformance.mapping_rules import MappingRules
from hilgw.testing.conformance.simulated_rules import TroubleRules


class AdapterConformance(MappingRules, TroubleRules, LiveRules):
    """All rules. pytest collects a subclass whose name begins with Test."""
