"""The control socket of a running gateway: what the gateway and its clients agree on."""
