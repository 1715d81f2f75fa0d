"""The table of decisions for a phone: its readers give the library's outputs for the same random bits."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import discreet as d
from discreet.decisions import decisions_of, digest_of_document, document_bytes
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import ContextMechanism, SlotMechanism
from discreet.mechanisms.named import Spec
from discreet.outputs import Output, Released
from discreet.randomness import SeededEntropy
from tests.strategies import random_chain, random_hidden, searches

PHONE = Path(__file__).parent.parent / "examples" / "phone"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed, which runs the JavaScript reader")

MECHANISMS: list[tuple[str, dict[str, object]]] = [
    ("adaptive", {"memory": "last"}),
    ("adaptive", {"memory": "none"}),
    ("adaptive", {"plan": "lazy"}),
    ("simulatable", {}),
    ("probabilistic", {"search": "mondrian", "grid": 4}),
    ("hybrid", {"search": "mondrian", "grid": 4}),
]


def _reader() -> Any:
    spec = importlib.util.spec_from_file_location("decide", PHONE / "decide.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


decide = _reader()


class Recorded(SeededEntropy):
    """A source of bits that keeps what was drawn from it: (how many bits, which number)."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[tuple[int, int]] = []

    def bits(self, count: int) -> int:
        value = super().bits(count)
        self.drawn.append((count, value))
        return value


class Replayed:
    """The same bits again; a draw of another width is an error."""

    def __init__(self, drawn: list[tuple[int, int]]) -> None:
        self.left = list(drawn)

    def __call__(self, count: int) -> int:
        width, value = self.left.pop(0)
        assert width == count
        return value


class Case(NamedTuple):
    """A day as the library decided it."""

    readings: list[str | None]
    drawn: list[tuple[int, int]]
    shown: list[str | None]


def policy_of(seed: int, contexts: tuple[str, ...]) -> d.Policy:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(contexts), size=int(rng.integers(1, 3)), replace=False)
    return d.Policy([contexts[k] for k in chosen], delta=float(rng.choice([0.05, 0.1, 0.2, 0.4])))


def mechanism_of(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    n, slots = int(rng.integers(2, 5)), int(rng.integers(1, 7))
    chain = random_chain(seed, n=n, slots=slots, zeros=float(rng.choice([0.0, 0.3, 0.6])))
    if seed % 3 == 0:  # a slot without a reading has a place in some habits
        chain = d.MarkovChain((*chain.contexts[:-1], "unknown"), chain.initial, chain.transitions)
    name, options = MECHANISMS[seed % len(MECHANISMS)]
    return Spec(name, options).make(chain, policy_of(seed, chain.contexts))


def cases_of(mechanism: Any, seed: int, days: int = 6) -> list[Case]:
    """Days of the model, some readings of which are missing, impossible, or of a place never learned."""
    rng = np.random.default_rng(seed)
    contexts, cases = mechanism.model.contexts, []
    for day in range(days):
        readings: list[str | None] = []
        at = int(rng.choice(len(contexts), p=mechanism.model.initial))
        for slot in range(mechanism.model.slots):
            if slot:
                at = int(rng.choice(len(contexts), p=mechanism.model.transitions[slot - 1][at]))
            strange = rng.random() < 0.15 * (day % 3)
            readings.append(
                [None, "never learned", *contexts][rng.integers(2 + len(contexts))] if strange else contexts[at]
            )
        source = Recorded(1_000 * seed + day)
        with d.Session(mechanism, rng=source) as today:
            outputs = [today.release(reading) for reading in readings]
        shown = [output.context if isinstance(output, Released) else None for output in outputs]
        cases.append(Case(readings, source.drawn, shown))
    return cases


SEEDS = searches(60)


def test_the_python_reader_gives_the_librarys_outputs_for_the_same_bits() -> None:
    drawn = released = 0
    for seed in SEEDS:
        mechanism = mechanism_of(seed)
        table = decide.Decisions(document_bytes(decisions_of(mechanism)).decode())
        for case in cases_of(mechanism, seed):
            bits = Replayed(case.drawn)
            today = decide.Day(table, bits)
            assert [today.decide(reading) for reading in case.readings] == case.shown, seed
            assert not bits.left, seed  # as many draws as the library's
            drawn += len(case.drawn)
            released += sum(shown is not None for shown in case.shown)
    assert released > len(SEEDS)
    assert drawn - released > len(SEEDS)


NODE_REPLAY = """
import { readDecisions, Day } from "./decide.mjs";
let text = "";
for await (const part of process.stdin) text += part;
const found = [];
for (const { document, days } of JSON.parse(text)) {
  const table = await readDecisions(document);
  for (const { readings, drawn } of days) {
    const left = [...drawn];
    const bits = (count) => {
      const [width, value] = left.shift();
      if (width !== count) throw new Error(`${count} bits asked for, ${width} drawn`);
      return value;
    };
    const today = new Day(table, bits);
    found.push({ shown: readings.map((reading) => today.decide(reading)), left: left.length });
  }
}
console.log(JSON.stringify(found));
"""


def node(program: str, given: str) -> str:
    assert NODE is not None
    run = subprocess.run(
        [NODE, "--input-type=module", "-e", program],
        input=given,
        capture_output=True,
        text=True,
        cwd=PHONE,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@needs_node
def test_the_javascript_reader_gives_the_librarys_outputs_for_the_same_bits() -> None:
    given, expected = [], []
    for seed in SEEDS:
        mechanism = mechanism_of(seed)
        cases = cases_of(mechanism, seed)
        days = [{"readings": case.readings, "drawn": case.drawn} for case in cases]
        given.append({"document": document_bytes(decisions_of(mechanism)).decode(), "days": days})
        expected += [{"shown": case.shown, "left": 0} for case in cases]
    assert json.loads(node(NODE_REPLAY, json.dumps(given))) == expected


@needs_node
def test_javascript_draws_as_many_bits_as_it_is_asked_for() -> None:
    """The top bit of each width is drawn about as often as not: of 4,000, between 1,800 and 2,200 (six deviations)."""
    program = """
    import { randomBits } from "./decide.mjs";
    const high = [1, 20, 32, 33, 52].map((count) => {
      let found = 0;
      for (let k = 0; k < 4000; k++) {
        const value = randomBits(count);
        if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** count) throw new Error(`${value}`);
        found += value >= 2 ** (count - 1);
      }
      return found;
    });
    console.log(JSON.stringify([randomBits(0), ...high]));
    """
    none, *high = json.loads(node(program, ""))
    assert none == 0
    assert all(1_800 < found < 2_200 for found in high)


def chain_of_four(slots: int = 4) -> d.MarkovChain:
    return random_chain(4, n=3, slots=slots, zeros=0.0)


def test_the_table_holds_no_truth() -> None:
    """It is the same to the last byte before and after days were released, and by another machine of equal habits."""
    mechanism = d.mechanisms.Adaptive(chain_of_four(), d.Policy(["c0"], delta=0.1))
    before = document_bytes(decisions_of(mechanism))
    cases_of(mechanism, 7)
    assert document_bytes(decisions_of(mechanism)) == before
    assert document_bytes(decisions_of(d.mechanisms.Adaptive(chain_of_four(), d.Policy(["c0"], delta=0.1)))) == before


def test_decisions_say_what_they_are_of() -> None:
    mechanism = d.mechanisms.Adaptive(chain_of_four(), d.Policy(["c0"], delta=0.1))
    document = decisions_of(mechanism)
    assert (document["format"], document["version"]) == ("discreet decisions", 1)
    assert document["model"] == mechanism.model.fingerprint
    assert document["policy"] == mechanism.policy.fingerprint
    assert (document["slots"], document["contexts"]) == (4, ["c0", "c1", "c2"])
    assert {len(numbers) for slot, _, numbers in document["runs"] if slot == 1} == {2}  # slots 2 and 3


def damaged(text: str) -> dict[str, tuple[str, str]]:
    """Files that are not to be used, and a word of the sentence that says so."""
    document = json.loads(text)
    weight = next(row for row in document["decisions"] if any(row[2]))
    changed = text.replace(
        json.dumps(weight[2], separators=(",", ":")), "[" + ",".join(["1"] * len(weight[2])) + "]", 1
    )
    assert changed != text
    newer = {**document, "version": 2}
    newer["digest"] = digest_of_document(newer)
    other = {**document, "format": "something else"}
    return {
        "cut off": (text[: len(text) // 2], "a part of one"),
        "no table": ("[1, 2]", "no table of decisions"),
        "null": ("null", "no table of decisions"),
        "a weight changed": (changed, "damaged"),
        "newer": (json.dumps(newer), "format version 2"),
        "another kind": (json.dumps(other), "another kind of file"),
    }


def text_of_a_table() -> str:
    return document_bytes(decisions_of(d.mechanisms.Adaptive(chain_of_four(), d.Policy(["c0"], delta=0.1)))).decode()


def test_the_python_reader_refuses_what_is_damaged_or_newer() -> None:
    for name, (text, word) in damaged(text_of_a_table()).items():
        with pytest.raises(decide.TableError, match=word):
            decide.Decisions(text)
        assert name


@needs_node
def test_the_javascript_reader_refuses_what_is_damaged_or_newer() -> None:
    program = """
    import { readDecisions, TableError } from "./decide.mjs";
    let text = "";
    for await (const part of process.stdin) text += part;
    const said = [];
    for (const one of JSON.parse(text)) {
      const refused = (error) => (error instanceof TableError ? error.message : `${error}`);
      said.push(await readDecisions(one).then(() => "read", refused));
    }
    console.log(JSON.stringify(said));
    """
    wrong = damaged(text_of_a_table())
    said = json.loads(node(program, json.dumps([text for text, _ in wrong.values()])))
    assert len(said) == len(wrong)
    for sentence, (_, word) in zip(said, wrong.values(), strict=True):
        assert word in sentence
        assert "Error" not in sentence


def test_a_reader_goes_on_from_what_it_saved_and_is_silent_after_a_skip() -> None:
    mechanism = d.mechanisms.Adaptive(chain_of_four(6), d.Policy(["c0"], delta=0.3))
    table = decide.Decisions(document_bytes(decisions_of(mechanism)).decode())
    released = 0
    for case in cases_of(mechanism, 3, days=20):
        bits, saved, shown = Replayed(case.drawn), None, []
        for reading in case.readings:
            today = decide.Day(table, bits, saved)
            shown.append(today.decide(reading))
            saved = json.loads(json.dumps(today.saved))  # another process
        assert shown == case.shown
        released += sum(one is not None for one in shown)
    assert released
    off = decide.Day(table)
    off.skip()
    assert [off.decide("c1") for _ in range(5)] == [None] * 5
    with pytest.raises(ValueError, match="all are decided"):
        off.decide("c1")


class Saying(SlotMechanism):
    """Says one context whatever is true."""

    guarantee = d.Guarantee("none", "it is for this test")

    def __init__(self, model: Any, policy: d.Policy, said: str) -> None:
        super().__init__(model, policy)
        self.said = said

    def kernel(self, state: int) -> FiniteKernel:
        return FiniteKernel((Released(self.said),), np.ones((3, 1), dtype=np.int64), 1)


class Recalling(ContextMechanism):
    """Tells the truth, and has all that it told as its public state."""

    guarantee = d.Guarantee("none", "it is for this test")

    def start(self) -> tuple[Output, ...]:
        return ()

    def kernel(self, state: tuple[Output, ...]) -> FiniteKernel:
        return FiniteKernel(tuple(Released(context) for context in self.model.contexts), np.eye(3), 1)

    def advance(self, state: tuple[Output, ...], output: Output) -> tuple[Output, ...]:
        return (*state, output)


TREE = d.Hierarchy({"top": ["c0", "c1", "c2"]})
CHAIN = chain_of_four()
ENDLESS = d.Routine({"day": CHAIN}, nights={("day", "day"): np.full((3, 3), 1 / 3)}).since("2026-11-16")


@pytest.mark.parametrize(
    ("make", "why", "remedy"),
    [
        (lambda p: d.mechanisms.Adaptive(ENDLESS, p), "no last slot", "--day-by-day"),
        (lambda p: d.mechanisms.Adaptive(random_hidden(1), p), "hides what comes next", "MarkovChain"),
        (lambda p: d.mechanisms.Adaptive(CHAIN, p, outputs="deceive"), "'deceive'", "outputs=suppress"),
        (lambda p: d.mechanisms.Adaptive(CHAIN, p, outputs="generalize", hierarchy=TREE), "'generalize'", "suppress"),
        (lambda p: d.mechanisms.Adaptive(CHAIN, d.Policy([d.Secret("c", {"c0"}, at="any")])), "the whole day", "each"),
        (lambda p: Saying(CHAIN, p, "c1"), "another context than the true one", "suppress"),
        (lambda p: Recalling(CHAIN, p), "more than its last release", "suppress"),
        (lambda p: d.mechanisms.Fdh(CHAIN, p, hierarchy=TREE), "not truth or silence alone", "suppress"),
    ],
)
def test_what_is_no_table_says_why(make: Any, why: str, remedy: str) -> None:
    with pytest.raises(d.DiscreetError) as error:
        decisions_of(make(d.Policy(["c0"], delta=0.1)))
    assert why in str(error.value)
    assert remedy in str(error.value)
