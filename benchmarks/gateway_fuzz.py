"""Hostile requests by the thousand: no 5xx, no traceback, no growth of memory.

`python -m benchmarks.gateway_fuzz 100000` sends as many as are named.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.gateway.fuzzed import Fuzz
from tests.gateway.test_fuzzed import FREE, answered, tokens_of
from tests.gateway.web import opened

REQUESTS = 5_000


async def fuzzed(folder: Path, count: int) -> tuple[Counter[int], int]:
    """How often each status was answered, and by how many kilobytes memory grew after the first tenth."""
    statuses: Counter[int] = Counter()
    begun = 0
    async with opened(folder, limits=FREE) as web:
        await web.pass_slots(20)
        fuzz = Fuzz(2, tokens_of(web))
        for number in range(count):
            sent = fuzz.request()
            answer = await answered(web, sent)
            statuses[answer.status_code] += 1
            if answer.status_code >= 500 or "Traceback" in answer.text:
                raise AssertionError(f"{answer.status_code} for {sent}")
            if number == count // 10:
                begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return statuses, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun


def main(count: int = REQUESTS) -> None:
    """Send them and say what came back."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        statuses, grown = asyncio.run(fuzzed(Path(folder), count))
    shown = ", ".join(f"{status}: {times}" for status, times in sorted(statuses.items()))
    print(f"{count} requests in {time.perf_counter() - began:.0f} s, no 5xx; {shown}")
    print(f"memory grew by {grown} kB after the first tenth")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS)
