"""Rules of an adapter that its settings do not change."""

from hilgw.testing import AdapterConformance


class Variant(AdapterConformance):
    """Leave the rules of the port to the class of the same adapter with its usual settings."""

    test_slow_line = None  # type: ignore[assignment]
    test_round_trip_on_a_pipe = None  # type: ignore[assignment]
    test_round_trip_on_a_virtual_port = None  # type: ignore[assignment]
    test_round_trip_on_a_virtual_port_with_faults = None  # type: ignore[assignment]
