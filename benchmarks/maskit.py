"""MaskIt's checks against the paper's own loops, compiled: ratios in one run, growth, memory.

- The naive twin of the probabilistic check: Algorithm 2's greedy loop over coordinates with bisection on the grid, and
  IsPrivate over windows (Algorithm 3) recomputed from scratch at each step, which caches forward and backward values.
- The naive twin of the simulatable check: Algorithm 4 with Lemma 5, evaluated at every decision of a simulated week.

Both twins are compiled with numba, and must give the same vector and the same decisions.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from discreet import MarkovChain, Policy, Released, Session, Suppressed
from discreet.jit import compiled
from discreet.mechanisms import Hybrid, Probabilistic, Simulatable
from discreet.mechanisms.maskit.probabilistic import Search
from discreet.mechanisms.maskit.simulatable import LastRelease
from discreet.mechanisms.maskit.windows import Order, Windows
from discreet.models.arrays import reachable
from discreet.numerics import ROOM, BoolArray, FloatArray, IntArray

GRID = 10
DELTA = 0.1
SEED = 3


def person(n: int, slots: int, seed: int) -> MarkovChain:
    """Somebody with habits: home at night, work by day, errands at their hours, each reached from a few places.

    Sticky (a stay lasts about an hour and a half), sparse, and with contexts that are impossible out of hours, as
    chains from plain counts are.
    """
    rng = np.random.default_rng(seed)
    hour = np.arange(slots) / slots
    open_at = np.abs(hour[:, None] - rng.uniform(0.3, 0.9, n)) < rng.uniform(0.04, 0.12, n)
    open_at[:, 0] = True
    open_at[:, 1] = (hour > 0.35) & (hour < 0.75)
    leaving = 16 / (slots * rng.uniform(0.5, 2, n)) * np.where(np.arange(n) < 2, 0.5, 1.0)
    linked = rng.random((n, n)) < 2 / n
    linked[:, 0] = linked[0, 1] = linked[1, 0] = True
    linked[0] |= rng.random(n) < 0.5
    linked[1] |= rng.random(n) < 0.3
    worth = rng.gamma(1.0, 1.0, (n, n)) / np.sqrt(1 + np.arange(n))
    transitions = np.zeros((slots - 1, n, n))
    for t in range(slots - 1):
        asleep = 0.05 if hour[t] < 0.25 or hour[t] > 0.93 else 1.0
        for c in range(n):
            go = linked[c] * worth[c] * open_at[t + 1]
            go[c] = 0.0
            leave = min(0.9, leaving[c] * (asleep if c == 0 else 1.0)) if open_at[t + 1, c] else 1.0
            if go.sum() == 0:
                go[0] = 1.0
            transitions[t, c] = go / go.sum() * leave
            transitions[t, c, c] += 1 - leave
    return MarkovChain([f"c{k}" for k in range(n)], np.eye(n)[0], transitions)


def secrets(chain: MarkovChain) -> Policy:
    """Three contexts that are neither common nor rare."""
    ranked = np.argsort(-chain.prior.sum(axis=0), kind="stable")
    n = len(ranked)
    return Policy([chain.contexts[k] for k in ranked[[n // 3, n // 2, 2 * n // 3]]], delta=DELTA)


# --- the twins


@compiled()
def window_ends(p: FloatArray, possible: BoolArray) -> IntArray:
    """(m, 2): the start (-1, 0), then every (slot, context) that can be released."""
    slots, n = p.shape
    ends = np.empty((slots * n + 1, 2), dtype=np.int64)
    ends[0] = (-1, 0)
    size = 1
    for t in range(slots):
        for c in range(n):
            if p[t, c] < 1.0 and possible[t, c]:
                ends[size] = (t, c)
                size += 1
    return ends[:size]


@compiled()
def forward_values(ends: IntArray, p: FloatArray, initial: FloatArray, steps: FloatArray) -> FloatArray:
    """alpha (m, T, n): P(silence since the end, X_t = c), by Equation 3's forward procedure."""
    slots, n = p.shape
    alpha = np.zeros((len(ends), slots, n))
    for e in range(len(ends)):
        a = ends[e, 0]
        if a + 1 < slots:
            alpha[e, a + 1] = initial if a < 0 else steps[a, ends[e, 1]]
        for t in range(a + 2, slots):
            for c in range(n):
                mass = alpha[e, t - 1, c] * p[t - 1, c]
                if mass > 0.0:
                    for k in range(n):
                        alpha[e, t, k] += mass * steps[t - 1, c, k]
    return alpha


@compiled()
def backward_values(ends: IntArray, p: FloatArray, steps: FloatArray) -> FloatArray:
    """beta (m + 1, T, n): P(silence until the end | X_t = c); the last is the end of the day."""
    slots, n = p.shape
    beta = np.zeros((len(ends) + 1, slots, n))
    for e in range(1, len(ends) + 1):
        b = slots if e == len(ends) else ends[e, 0]
        if b == slots:
            beta[e, b - 1] = 1.0
        elif b > 0:
            beta[e, b - 1] = steps[b - 1, :, ends[e, 1]]
        for t in range(b - 2, -1, -1):
            for c in range(n):
                for k in range(n):
                    beta[e, t, c] += steps[t, c, k] * p[t + 1, k] * beta[e, t + 1, k]
    return beta


@compiled()
def naive_is_private(
    p: FloatArray,
    possible: BoolArray,
    initial: FloatArray,
    steps: FloatArray,
    members: BoolArray,
    theta: FloatArray,
) -> bool:
    """Algorithm 3's IsPrivate: every slot, secret and window; false at the first that fails."""
    slots, n = p.shape
    ends = window_ends(p, possible)
    for e in range(1, len(ends)):
        for g in range(len(members)):
            if members[g, ends[e, 1]] and theta[g, ends[e, 0]] < 1.0:
                return False
    alpha = forward_values(ends, p, initial, steps)
    beta = backward_values(ends, p, steps)
    for u in range(slots):
        for g in range(len(members)):
            for left in range(len(ends)):
                if ends[left, 0] >= u:
                    continue
                for right in range(1, len(ends) + 1):
                    if right < len(ends) and ends[right, 0] <= u:
                        continue
                    whole = 0.0
                    inside = 0.0
                    for c in range(n):
                        mass = alpha[left, u, c] * p[u, c] * beta[right, u, c]
                        whole += mass
                        if members[g, c]:
                            inside += mass
                    if whole > 0.0 and inside > theta[g, u] * whole:
                        return False
    return True


@compiled()
def naive_mondrian(
    coordinates: IntArray,
    grid: int,
    possible: BoolArray,
    initial: FloatArray,
    steps: FloatArray,
    members: BoolArray,
    theta: FloatArray,
) -> FloatArray:
    """Lower each coordinate (slot, context) by bisection on the grid, in the order given."""
    p = np.ones(possible.shape)
    for k in range(len(coordinates)):
        t, i = coordinates[k]
        low, high = 0, grid
        while low < high:
            middle = (low + high) // 2
            p[t, i] = middle / grid
            if naive_is_private(p, possible, initial, steps, members, theta):
                high = middle
            else:
                low = middle + 1
        p[t, i] = high / grid
    return p


@compiled()
def naive_okay(
    a: int, i: int, t: int, initial: FloatArray, steps: FloatArray, members: BoolArray, theta: FloatArray
) -> bool:
    """Algorithm 4 at slot t after the release of i at slot a (or -1), u > a alone (Lemma 5); beliefs share vectors."""
    slots, n = theta.shape[1], len(initial)
    now = initial.copy() if a < 0 else steps[a, i].copy()
    past = np.zeros((slots, n))
    for u in range(a + 1, t):
        past[u] = now
        now = np.dot(now, steps[u])
    for j in range(n):  # u >= t
        if now[j] > 0.0:
            x = np.zeros(n)
            x[j] = 1.0
            for u in range(t, slots):
                for g in range(len(members)):
                    if x[members[g]].sum() > theta[g, u]:
                        return False
                if u + 1 < slots:
                    x = np.dot(x, steps[u])
    for u in range(a + 1, t):  # between
        for g in range(len(members)):
            joint = np.where(members[g], past[u], 0.0)
            for v in range(u, t):
                joint = np.dot(joint, steps[v])
            for j in range(n):
                if now[j] > 0.0 and joint[j] > theta[g, u] * now[j]:
                    return False
    return True


@compiled()
def transition(x: FloatArray, a: int, b: int, steps: FloatArray) -> FloatArray:
    """Equation 2: x times A of the slots from a to b."""
    for t in range(a, b):
        x = np.dot(x, steps[t])
    return x


@compiled()
def printed_okay(
    a: int, i: int, t: int, initial: FloatArray, steps: FloatArray, members: BoolArray, theta: FloatArray
) -> bool:
    """The same decision as printed: for each possible j, secret and slot u > a a belief by Corollary 1, Equation 2."""
    slots, n = theta.shape[1], len(initial)
    unit = np.eye(n)
    first = initial if a < 0 else steps[a, i]
    now = transition(first, a + 1, t, steps)
    for j in range(n):
        if now[j] == 0.0:
            continue
        for g in range(len(members)):
            for u in range(a + 1, slots):
                belief = 0.0
                for s in range(n):
                    if members[g, s] and u < t:
                        there = transition(first, a + 1, u, steps)[s]
                        belief += there * transition(unit[s], u, t, steps)[j] / now[j]
                    elif members[g, s]:
                        belief += transition(unit[j], t, u, steps)[s]
                if belief > theta[g, u]:
                    return False
    return True


# --- what is measured


def best_of(call: Callable[[], object], repetitions: int = 5) -> float:
    """Seconds of the quickest of some runs, after one to warm up."""
    call()
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def met(ratio: float, wanted: float) -> str:
    """A ratio against the one that was asked for."""
    return f"{ratio:,.0f}x (at least {wanted:,.0f}x: {'met' if ratio >= wanted else 'MISSED'})"


def bounds(windows: Windows) -> FloatArray:
    """(G, T): prior + delta, with the same room for rounding as the search's."""
    return windows.secret_prior + windows.deltas[:, None] + ROOM


def probabilistic() -> None:
    """mondrian and exact against the twin, order by order and with all orders."""
    chain = person(12, 96, SEED)
    check = Probabilistic(chain, secrets(chain), search="mondrian", grid=GRID)
    windows = check.windows
    silent = np.ones(windows.possible.shape)
    steps = np.array(chain.transitions)
    fixed = (windows.possible, np.array(chain.initial), steps, windows.members, bounds(windows))
    naive_mondrian(np.zeros((1, 2), dtype=np.int64), GRID, *fixed)  # compile
    print(f"probabilistic check, n = 12, T = 96, 3 secrets, {windows.possible.sum()} coordinates, grid 1/{GRID}")
    print(
        f"  {'order':26}{'twin s':>8}{'mondrian s':>12}{'exact s':>9}{'ratios':>14}  "
        "same vector  utility: mondrian, exact"
    )
    spent = 0.0
    for order in check.orders():
        coordinates = np.array([at for at in order.coordinates() if windows.possible[at]])
        began = time.perf_counter()
        naive = naive_mondrian(coordinates, GRID, *fixed)
        twin = time.perf_counter() - began
        spent += twin
        p, _ = windows.lowered(silent, order, grid=GRID)
        q, _ = windows.lowered(silent, order)
        fast = best_of(lambda order=order: windows.lowered(silent, order, grid=GRID))  # type: ignore[misc]
        exact = best_of(lambda order=order: windows.lowered(silent, order))  # type: ignore[misc]
        print(
            f"  {order.name:26}{twin:8.2f}{fast:12.4f}{exact:9.4f}{twin / fast:7.0f}{twin / exact:7.0f}"
            f"  {np.array_equal(naive, p)!s:11}  {check.utility_of(p):.4f}, {check.utility_of(q):.4f}"
        )
    searches: tuple[Search, ...] = ("mondrian", "exact")
    for search in searches:

        def whole_search(search: Search = search) -> Probabilistic:
            return Probabilistic(chain, secrets(chain), search=search, grid=GRID)

        found, whole = whole_search(), best_of(whole_search, 3)
        print(
            f"  {search}, all orders and certified: {whole:.3f} s, twin {spent:.1f} s: {met(spent / whole, 20)}; "
            f"utility {float(found.expected_utility()):.4f} ({found.order})"
        )


def week(check: Simulatable, chain: MarkovChain) -> list[tuple[int, int, int]]:
    """The (last slot, last context, slot) of every decision in a simulated week."""
    decisions = []
    for day in chain.sample_codes(7, seed=1):
        state = check.start()
        for t, context in enumerate(day):
            decisions.append((state.released_slot, state.released, t))
            releases = check.next_release(state) == t
            state = check.advance(state, Released(chain.contexts[context]) if releases else Suppressed())
    return decisions


def simulatable() -> None:
    """The table and its look-ups against Algorithm 4 per decision."""
    chain = person(20, 96, SEED)
    policy = secrets(chain)
    check = Simulatable(chain, policy)
    table = best_of(lambda: Simulatable(chain, policy))
    ahead = best_of(lambda: Simulatable(chain, policy, lookahead=True))
    decisions = week(check, chain)
    members = check.secrets.members
    theta = members.astype(np.float64) @ chain.prior.T + check.secrets.least_delta[:, None] + ROOM  # there are no caps
    steps: FloatArray = np.where(reachable(chain)[:-1, :, None], chain.transitions, 0.0)
    arrays = (np.array(chain.initial), np.asarray(steps, dtype=np.float64), members, theta)
    states = [LastRelease(t, a, i) for a, i, t in decisions]
    fast = [check.next_release(state) == state.slot for state in states]
    look_up = best_of(lambda: [check.next_release(state) == state.slot for state in states]) / len(states)
    print(f"simulatable check, n = 20, T = 96, 3 secrets, {len(decisions)} decisions of a week")
    print(f"  table {table * 1e3:.2f} ms, with lookahead {ahead * 1e3:.2f} ms; look-up {look_up * 1e9:.0f} ns")
    for name, okay in (("as printed", printed_okay), ("vectors shared", naive_okay)):
        a, i, t = decisions[0]
        okay(a, i, t, *arrays)  # compile
        began = time.perf_counter()
        slow = [okay(a, i, t, *arrays) for a, i, t in decisions]
        twin = time.perf_counter() - began
        each = twin / len(decisions)
        print(f"  Algorithm 4, Lemma 5, {name}: {twin:.3f} s, {each * 1e6:.0f} us a decision; same: {slow == fast}")
        print(f"    table {met(twin / table, 20)}, look-up {met(each / look_up, 1000)}")
    utilities = float(check.expected_utility()), float(Simulatable(chain, policy, lookahead=True).expected_utility())
    print(f"  utility {utilities[0]:.4f}, with lookahead {utilities[1]:.4f}")
    releasing = session_seconds(Hybrid(chain, policy), chain)
    print(
        f"  Session.release with gains tracked: {releasing * 1e6:.0f} us "
        f"(under 100 us: {'met' if releasing < 1e-4 else 'MISSED'})"
    )


def session_seconds(check: Hybrid, chain: MarkovChain) -> float:
    """Seconds of one release, the median over the slots of some days."""
    times = []
    for day in chain.sample(5, seed=2):
        with Session(check) as today:
            for context in day.contexts:
                began = time.perf_counter()
                today.release(context)
                times.append(time.perf_counter() - began)
    return float(np.median(times))


def growth() -> None:
    """How time grows with n and T: fitted exponents."""
    print("growth (seconds; exponents fitted to the three sizes, mean over 3 people)")
    sizes: dict[str, list[tuple[int, int]]] = {
        "n": [(10, 96), (20, 96), (40, 96)],
        "T": [(12, 48), (12, 96), (12, 192)],
    }
    for name, grid in sizes.items():
        times = np.array([[one_size(n, slots, seed) for n, slots in grid] for seed in range(3)]).mean(axis=0)  # (3, 3)
        x = np.log([n if name == "n" else slots for n, slots in grid])
        for k, what in enumerate(("simulatable table", "mondrian, slot order", "mondrian, by context")):
            exponent = np.polyfit(x, np.log(times[:, k]), 1)[0]
            row = "".join(f"{value:9.4f}" for value in times[:, k])
            print(f"  in {name}: {what:24}{row}   {name}^{exponent:.1f}")


def one_size(n: int, slots: int, seed: int) -> list[float]:
    """Seconds of the table, and of one greedy vector in two orders."""
    chain = person(n, slots, seed)
    policy = secrets(chain)
    check = Probabilistic(chain, policy, p=np.ones((slots, n)))
    orders = dict(zip(("slots", "contexts"), check.orders(), strict=False))

    def lowered(order: Order) -> None:
        check.windows.lowered(check.p, order, grid=GRID)

    return [
        best_of(lambda: Simulatable(chain, policy), 2),
        best_of(lambda: lowered(orders["slots"]), 2),
        best_of(lambda: lowered(orders["contexts"]), 1),
    ]


def largest() -> None:
    """n = 40, T = 288, in a process of its own so that its peak memory is its own."""
    done = subprocess.run([sys.executable, __file__, "largest"], capture_output=True, text=True, check=True)
    print(done.stdout, end="")


def largest_here() -> None:
    """The checks on a large person, and the peak memory."""
    chain = person(40, 288, SEED)
    policy = secrets(chain)
    print("n = 40, T = 288, 3 secrets")
    for name, make in (
        ("simulatable", lambda: Simulatable(chain, policy)),
        ("simulatable, lookahead", lambda: Simulatable(chain, policy, lookahead=True)),
        ("mondrian", lambda: Probabilistic(chain, policy, search="mondrian")),
        ("exact", lambda: Probabilistic(chain, policy)),
    ):
        began = time.perf_counter()
        made = make()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        how = f", {made.vectors} vectors, {made.order}" if isinstance(made, Probabilistic) else ""
        print(f"  {name:24}{seconds:8.2f} s, utility {float(made.expected_utility()):.4f}, peak {peak:.2f} GiB{how}")


def main() -> None:
    """Print every table."""
    probabilistic()
    simulatable()
    growth()
    largest()


if __name__ == "__main__":
    largest_here() if sys.argv[1:] == ["largest"] else main()
