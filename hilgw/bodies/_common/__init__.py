"""What robots on a serial line share: their settings, the checks of these, and their session."""
