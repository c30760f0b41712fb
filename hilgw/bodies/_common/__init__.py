"""Parts that robots on a serial line share: settings, the checks of these, and the session."""
