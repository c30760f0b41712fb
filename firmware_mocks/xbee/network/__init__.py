"""What the module does in the air: addresses, packets, discovery, Zigbee."""
