"""What bodies with servos on a half-duplex bus share: the bus, goals, stops, handshake, session."""
