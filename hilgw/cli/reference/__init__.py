"""The command line as data, for shell completion and the manual page."""
