"""The command of the crash tests: appends its start and its end to the ledger, synced to the disk.
It imports nothing of Quarterjack, so that the ledger does not depend on what it checks."""

import json
import os
import sys
import time


def note(file: str, what: str) -> None:
    line = {
        "what": what,
        "run": os.environ["QUARTERJACK_RUN_ID"],
        "key": os.environ["QUARTERJACK_SCHEDULE"],
        "slot": os.environ["QUARTERJACK_SLOT"],
        "attempt": int(os.environ["QUARTERJACK_ATTEMPT"]),
        "pid": os.getpid(),
        "wall": time.time_ns() // 1000,
    }
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (json.dumps(line) + "\n").encode())
    os.fsync(descriptor)
    os.close(descriptor)


def main() -> None:
    file, seconds, code = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    note(file, "start")
    print("working", flush=True)
    time.sleep(seconds)
    note(file, "end")
    sys.exit(code)


if __name__ == "__main__":
    main()
