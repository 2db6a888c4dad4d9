"""How a command ends: its exit code, and what is printed on an error.

It exits quietly when its reader has gone, prints a message when the output cannot be written, and adds a
traceback on an internal error.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from simulator.headless import EXIT_BAD_INPUT, EXIT_BUG

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What writing to a file that is standard output can fail with; other files are looked after where they
are written.
"""


def leave_with(work: Callable[[], int]) -> NoReturn:
    """Do a command's work, which gives an exit code, and leave the process with it."""
    try:
        code = work()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has exited (`| head`): there is no one to print to.
        sys.stdout = None  # the interpreter must not flush it at exit
        sys.exit(EXIT_BAD_INPUT)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _own_bug()
        sys.stderr.write(
            f"standard output cannot be written: {error.strerror}; make room, or send it elsewhere\n"
        )
        sys.stdout = None
        sys.exit(EXIT_BAD_INPUT)
    except Exception:
        _own_bug()
    sys.exit(code)


def _own_bug() -> NoReturn:
    sys.stderr.write(
        f"A bug in Failover Lab, please report it with the scenario and this:\n{traceback.format_exc()}"
    )
    sys.exit(EXIT_BUG)
