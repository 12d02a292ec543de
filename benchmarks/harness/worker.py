"""One job in a fresh process: `python -m benchmarks.harness.worker JOB.json RESULT.json`.

The core is chosen before anything numerical is imported, because thread pools look only once.
"""

import importlib
import json
import os
import sys
from pathlib import Path


def main(job_path: str, result_path: str) -> None:
    core = os.environ.get("ALPHAPATH_BENCHMARK_CORE")
    if core is not None:
        os.sched_setaffinity(0, {int(core)})
    job = json.loads(Path(job_path).read_text())
    module, _, function = job["function"].partition(":")
    result = getattr(importlib.import_module(module), function)(**job["arguments"])
    Path(result_path).write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
