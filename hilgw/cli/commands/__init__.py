"""The commands by their purpose, in the order of the help: each with its module in this folder and
its summary. The help, the manual page and completions show these groups; the
short help those of EVERYDAY.

A module has `COMMANDS`, which declares how each of its commands is called, and `run`, or `run_NAME`
for each of several commands; these return the exit code. A module is imported only for its commands.
"""

GROUPS = {
    "run": {
        "run": ("run", "run a gateway (the default)"),
        "bridge": ("bridge", "connect a serial port to TCP clients, for any program"),
        "mock": ("mock", "run firmware mocks on virtual ports or TCP, for any program"),
        "exec": ("clients.exec", "run a Python controller without the library of Webots"),
    },
    "look": {
        "watch": ("clients.watch", "show what passes through a running gateway, live"),
        "web": ("web", "show all gateways in a browser"),
        "status": ("clients.status", "show the state of all gateways that run, once"),
        "show": ("recordings.show", "show what a recording holds"),
        "plot": ("recordings.plot", "draw values, commands and losses of a recording"),
        "diff": ("recordings.diff", "name the first differences of two recordings"),
        "twin": ("recordings.twin", "a real link beside Webots' fields, a robot beside its shadow"),
        "metrics": ("clients.status", "print the metrics of running gateways, for Prometheus"),
        "explain": (
            "configurations.explain",
            "explain what a configuration connects, and what stops it",
        ),
    },
    "command": {
        "send": ("clients.gateway_request", "send one packet through a running gateway"),
        "place": ("clients.gateway_request", "set the pose of an object in a running gateway"),
        "set": (
            "clients.gateway_request",
            "change channel or range of a device, or a remote module",
        ),
        "mode": ("clients.mode", "give a robot's controller the simulated or the real body"),
        "key": ("clients.user", "press keys of a robot's keyboard, such as the arrows"),
        "say": ("clients.user", "send a text to a controller, as from its robot window"),
        "arm": ("clients.arming", "let the motors of robots move (real ones; a latched stop)"),
        "disarm": ("clients.arming", "stop robots until they are armed again"),
        "record": ("clients.record", "begin or end a recording of a running gateway"),
        "note": ("clients.record", "put a remark into recordings and logs"),
        "mocap-send": ("clients.mocap_send", "send poses to a gateway, as motion capture does"),
    },
    "hardware": {
        "doctor": ("hardware.doctor", "find what blocks serial ports; the first check of a robot"),
        "ports": ("hardware.ports", "list the serial ports of this machine"),
        "scan": ("hardware.scan", "find known modules on serial ports, and the network of an XBee"),
        "adapters": (
            "hardware.adapters",
            "list the kinds of hardware, their limits and their field mapping",
        ),
        "release": (
            "clients.release",
            "hand a port of a running gateway to a flashing tool, and back",
        ),
    },
    "write": {
        "check": ("configurations.check", "check configuration files and report all errors"),
        "example": ("configurations.example", "print a shipped configuration"),
        "schema": (
            "configurations.schema",
            "print or write the JSON Schema of configurations, for editors",
        ),
        "import-world": (
            "configurations.import_world",
            "make a configuration of a Webots world file",
        ),
        "new-adapter": ("hardware.new_kind", "write the files of a new adapter"),
        "new-body": ("hardware.new_kind", "write the files of a new body"),
        "convert": ("recordings.convert", "write a recording as CSV, MCAP or JSON lines"),
        "capture2test": ("recordings.capture2test", "write a test of a recorded run, for pytest"),
        "token": ("token", "make a token for a client on another host"),
        "completion": ("completion", "print a completion script for bash, zsh or fish"),
    },
}
EVERYDAY = (
    *("run", "mock", "watch", "web", "status", "show", "explain", "send"),
    *("arm", "disarm", "doctor", "ports", "scan", "check", "example"),
)
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
