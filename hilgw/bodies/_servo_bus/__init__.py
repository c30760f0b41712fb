"""Parts of bodies with servos on a half-duplex bus: bus, goals, stops, handshake, session."""
