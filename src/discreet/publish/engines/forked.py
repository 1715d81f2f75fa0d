"""What the processes of a pool are forked from: all that they need is imported, and none of it is looked through again.

Memory that a process does not write to is shared with what it was forked from. Python's collector of garbage writes to
every object that it looks through, so that each process would come to have a copy of all modules; what is frozen is
left out of that.
"""

from __future__ import annotations

import gc

import discreet.publish.work  # noqa: F401  for the processes

gc.collect()
gc.freeze()
