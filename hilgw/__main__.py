"""`python -m hilgw`."""

import sys

from hilgw.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
