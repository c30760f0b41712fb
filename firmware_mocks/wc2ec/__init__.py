"""WC2EC as its document describes it: messages, COBS frames, a robot's body, pilots.

Shared by the mocks wc2ec_controller, wc2ec_node and wc2ec_robot; not a mock itself.
"""
