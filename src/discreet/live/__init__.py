"""One person, live: from readings to one decision a slot. The command, the gateway and Spark's stream share this rule.

**Slots.** A slot lies between two instants (`Clock.start_of`, `Clock.end_of`), also where clocks change: an hour that
comes twice lengthens the slot that has not ended, and a slot of an hour that is left out is empty: it ends with the
slot before it, and is decided with it (`slots.slot_at`, `slots.instants`).

**Decisions.** Each slot is decided once, in order, and never before it is due, `wait` seconds after its end
(`slots.Schedule`). One that was due longer ago than the grace is skipped, in public: nothing was running, and what was
true in it is not known. What is decided is told at a fixed margin after the slot's end.

**Readings.** A reading belongs to the slot in which its instant lies, whenever and in whatever order it comes. One that
comes after its slot was decided is late: it changes nothing of that slot, and may stand in later ones. One that is more
than `AHEAD` seconds ahead of the clock is refused: its clock is wrong.

**Which reading stands.** The context that stood longest in the slot, each reading from its instant until the next, for
a stated time at most; of several sources the newest change is believed (`StandingRule`). Who has no store keeps what
may still matter (`standing.Heard`).

**The first slot** is the one under way when a stream begins (`Stream`'s `first`); there is nothing before it.

**Cuts.** Over a routine, a mechanism that can runs without end; any other starts anew at each cut, where its day ends
(`stream.Stream`). Other habits and another policy begin at a cut (`Session.change`).

The command adds lines, the gateway a disk (stamps before a draw, rows before they are told), Spark states.
"""

from discreet.live.stream import Stream, span

__all__ = ["Stream", "span"]
