"""The commands by their purpose, in the order of the help: each with its module and its summary.

The help, the manual page and completions show these groups; the short help those of EVERYDAY.

A module has `COMMANDS`, which declares how each of its commands is called, and `run`, or `run_NAME`
for each of several commands; these return the exit code, if it is not 0. A module is imported only
for its commands, by its name: rooms such as `bridge` and `web` bring theirs, and other
distributions by the entry points `hilgw.commands`.
"""

GROUPS = {
    "run": {
        "run": ("hilgw.cli.commands.run", "run a gateway (the default)"),
        "bridge": (
            "hilgw.bridge.command",
            "connect a serial port to TCP clients, for any program",
        ),
        "mock": (
            "hilgw.cli.commands.mock",
            "run firmware mocks on virtual ports or TCP, for any program",
        ),
        "exec": (
            "hilgw.cli.commands.clients.exec",
            "run a Python controller without the library of Webots",
        ),
    },
    "look": {
        "watch": (
            "hilgw.cli.commands.clients.watch",
            "show what passes through a running gateway, live",
        ),
        "web": ("hilgw.web.command", "show all gateways in a browser"),
        "status": (
            "hilgw.cli.commands.clients.status",
            "show the state of all gateways that run, once",
        ),
        "show": ("hilgw.record.commands.show", "show what a recording holds"),
        "plot": ("hilgw.record.commands.plot", "draw values, commands and losses of a recording"),
        "diff": ("hilgw.record.commands.diff", "name the first differences of two recordings"),
        "twin": (
            "hilgw.record.commands.twin",
            "a real link next to Webots' fields, a robot next to its shadow",
        ),
        "metrics": (
            "hilgw.cli.commands.clients.status",
            "print the metrics of running gateways, for Prometheus",
        ),
        "explain": (
            "hilgw.cli.commands.configurations.explain",
            "explain what a configuration connects, and what stops it",
        ),
    },
    "command": {
        "send": (
            "hilgw.cli.commands.clients.gateway_request",
            "send one packet through a running gateway",
        ),
        "place": (
            "hilgw.cli.commands.clients.gateway_request",
            "set the pose of an object in a running gateway",
        ),
        "set": (
            "hilgw.cli.commands.clients.gateway_request",
            "change channel or range of a device, or a remote module",
        ),
        "mode": (
            "hilgw.cli.commands.clients.mode",
            "give a robot's controller the simulated or the real body",
        ),
        "key": (
            "hilgw.cli.commands.clients.user",
            "press keys of a robot's keyboard, such as the arrows",
        ),
        "say": (
            "hilgw.cli.commands.clients.user",
            "send a text to a controller, as from its robot window",
        ),
        "arm": (
            "hilgw.cli.commands.clients.arming",
            "let the motors of robots move (real ones; a latched stop)",
        ),
        "disarm": ("hilgw.cli.commands.clients.arming", "stop robots until they are armed again"),
        "record": (
            "hilgw.cli.commands.clients.record",
            "begin or end a recording of a running gateway",
        ),
        "note": ("hilgw.cli.commands.clients.record", "put a remark into recordings and logs"),
        "mocap-send": (
            "hilgw.cli.commands.clients.mocap_send",
            "send poses to a gateway, as motion capture does",
        ),
    },
    "hardware": {
        "doctor": (
            "hilgw.cli.commands.hardware.doctor",
            "find what blocks serial ports; the first check of a robot",
        ),
        "ports": ("hilgw.cli.commands.hardware.ports", "list the serial ports of this machine"),
        "scan": (
            "hilgw.federation.command",
            "find known modules on serial ports, and the network of an XBee",
        ),
        "adapters": (
            "hilgw.cli.commands.hardware.adapters",
            "list the kinds of hardware, their limits and their field mapping",
        ),
        "release": (
            "hilgw.cli.commands.clients.release",
            "hand a port of a running gateway to a flashing tool, and back",
        ),
    },
    "write": {
        "check": (
            "hilgw.cli.commands.configurations.check",
            "check configuration files and report all errors",
        ),
        "example": ("hilgw.cli.commands.configurations.example", "print a shipped configuration"),
        "schema": (
            "hilgw.cli.commands.configurations.schema",
            "print or write the JSON Schema of configurations, for editors",
        ),
        "import-world": (
            "hilgw.worlds.command",
            "make a configuration of a Webots world file",
        ),
        "new-adapter": ("hilgw.cli.commands.hardware.new_kind", "write the files of a new adapter"),
        "new-body": ("hilgw.cli.commands.hardware.new_kind", "write the files of a new body"),
        "convert": (
            "hilgw.record.commands.convert",
            "write a recording as CSV, MCAP or JSON lines",
        ),
        "capture2test": (
            "hilgw.record.commands.capture2test",
            "write a test of a recorded run, for pytest",
        ),
        "token": ("hilgw.cli.commands.token", "make a token for a client on another host"),
        "completion": (
            "hilgw.cli.commands.completion",
            "print a completion script for bash, zsh or fish",
        ),
    },
}
EVERYDAY = (
    *("run", "mock", "watch", "web", "status", "show", "explain", "send"),
    *("arm", "disarm", "doctor", "ports", "scan", "check", "example"),
)
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
