#!/usr/bin/env python3
"""Run a command and write the peak of its resident bytes to a file: peak.py FILE COMMAND...

A process of its own, run with -S: a peak that wait4 tells is at least what the parent held when the command was
started, so the parent has to be smaller than what is measured.
"""

import os
import sys

pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
# Built-in open(): pathlib would make this process larger.
with open("/proc/self/status") as status_file:  # noqa: PTH123
    own_kib = next(int(line.split()[1]) for line in status_file if line.startswith("VmHWM:"))
with open(sys.argv[1], "w") as out:  # noqa: PTH123
    out.write(f"{usage.ru_maxrss * 1024} {own_kib * 1024}")
sys.exit(os.waitstatus_to_exitcode(status))
