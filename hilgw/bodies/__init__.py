"""Bodies: what has the sensors and motors. One file per kind, each a pure session."""
