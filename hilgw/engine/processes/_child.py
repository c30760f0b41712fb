"""First steps of a child process before it becomes the program: it ends with its parent (Linux).

Called by path: PARENT SIGNAL PROGRAM [ARGUMENT...]; the signal is what the program gets then. The
kernel keeps the request over the exec.
"""

import ctypes
import errno
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, number, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it ended before the request
            sys.exit(1)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        import shutil

        reason = error.strerror
        # A folder of PATH that this user must not enter is the error, whatever the others have.
        if "/" not in program[0] and shutil.which(program[0], os.F_OK) is None:
            reason = os.strerror(errno.ENOENT)
        sys.exit(f"cannot run {program[0]}: {reason}")


if __name__ == "__main__":
    main()
