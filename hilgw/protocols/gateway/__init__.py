"""The control socket of a running gateway: the protocol of gateway and clients."""
