"""Mechanisms by name: from text or TOML to the same kernels as the constructor's, and errors that say what to give."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet import mechanisms
from discreet.contracts import DayModel, Mechanism, is_finite
from discreet.errors import DiscreetError
from discreet.mechanisms.named import Spec, names
from discreet.mechanisms.options import Options
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.models.routine.parts import without_end
from discreet.places import Circle, Place, Places, write_places
from discreet.randomness import SeededEntropy
from tests.mechanisms.events.event_models import event_models, event_policy
from tests.strategies import random_chain

CHAIN = random_chain(1, n=3, slots=3)
POLICY = d.Policy(["c0"], delta=0.1)
TREE = {"top": {"left": ["c0", "c1"], "right": ["c2"]}}
POINTS = {"c2": [0.0, 2.0], "c0": [0.0, 0.0], "c1": [1.0, 0.5]}  # not in the model's order
ANSWERS = [[0.0, 0.0], [1.0, 0.5], [0.0, 2.0]]
LABELS = {"c0": ["c0", "c1"], "c1": ["c0", "c1"], "c2": ["c2"]}

TOML = {
    "fdh": """
        [mechanism]
        name = "fdh"
        weights = [1, 0.5, 0]
        [mechanism.hierarchy.top]
        left = ["c0", "c1"]
        right = ["c2"]
        """,
    "dphmm": """
        [mechanism]
        name = "dphmm"
        epsilon = 1
        [mechanism.graph]
        edges = [["c0", "c1"]]
        [mechanism.query]
        c2 = [0.0, 2.0]
        c0 = [0, 0]
        c1 = [1.0, 0.5]
        """,
    "set-labelled": """
        [mechanism]
        name = "set-labelled"
        mechanism = "probabilistic"
        grid = 20
        search = "mondrian"
        [mechanism.labels]
        c0 = ["c0", "c1"]
        c1 = ["c0", "c1"]
        """,
}

MADE: dict[str, tuple[list[str], Callable[[DayModel, d.Policy], Mechanism[Any]]]] = {
    "adaptive": (
        ["outputs=deceive", "memory=none", "plan=lazy"],
        lambda model, policy: mechanisms.Adaptive(model, policy, outputs="deceive", memory="none", plan="lazy"),
    ),
    "capp": (["constraints=bayes"], lambda model, policy: mechanisms.Capp(model, policy, constraints="bayes")),
    "dphmm": (
        ['graph={edges = [["c0", "c1"]]}', "query={c2 = [0, 2], c0 = [0, 0], c1 = [1, 0.5]}", "epsilon=1"],
        lambda model, policy: mechanisms.Dphmm(
            model, policy, graph=PolicyGraph.from_edges(3, [[0, 1]]), query=ANSWERS, epsilon=1.0
        ),
    ),
    "dpls": (
        ["query={c2 = [0, 2], c0 = [0, 0], c1 = [1, 0.5]}", "epsilon=1", "left_out=0.1"],
        lambda model, policy: mechanisms.Dpls(model, policy, query=ANSWERS, epsilon=1.0, left_out=0.1),
    ),
    "efficient-fake": ([], mechanisms.EfficientFake),
    "fdh": (
        ['hierarchy={top = {left = ["c0", "c1"], right = ["c2"]}}', "weights=[1, 0.5, 0]", "lookahead=true"],
        lambda model, policy: mechanisms.Fdh(
            model, policy, hierarchy=d.Hierarchy(TREE), weights=(1.0, 0.5, 0.0), lookahead=True
        ),
    ),
    "hybrid": (
        ["search=mondrian", "grid=5"],
        lambda model, policy: mechanisms.Hybrid(model, policy, search="mondrian", grid=5),
    ),
    "mask-sensitive": ([], mechanisms.MaskSensitive),
    "no-internal": ([], mechanisms.NoInternal),
    "no-mask": ([], mechanisms.NoMask),
    "pa-hmm": (["window=4", "grid=4"], lambda model, policy: mechanisms.PaHmm(model, policy, window=4, grid=4)),
    "pa-markov": (["internal=false"], lambda model, policy: mechanisms.PaMarkov(model, policy, internal=False)),
    "probabilistic": (
        ["p=[[1, 0.5, 0], [1, 0.5, 0], [1, 1, 1]]", "verify=false"],
        lambda model, policy: mechanisms.Probabilistic(
            model, policy, p=np.array([[1, 0.5, 0], [1, 0.5, 0], [1, 1, 1]]), verify=False
        ),
    ),
    "sensitive-mask": ([], mechanisms.SensitiveMask),
    "set-labelled": (
        ['labels={c0 = ["c0", "c1"], c1 = ["c0", "c1"]}', "mechanism=probabilistic", "search=mondrian", "grid=20"],
        lambda model, policy: mechanisms.SetLabelled(
            model, policy, labels=LABELS, mechanism=mechanisms.Probabilistic, search="mondrian", grid=20
        ),
    ),
    "simulatable": (["lookahead=true"], lambda model, policy: mechanisms.Simulatable(model, policy, lookahead=True)),
}


def model_for(name: str) -> tuple[DayModel, d.Policy]:
    if name in ("pa-markov", "no-internal"):
        return next(iter(event_models(1))), event_policy(1)
    return CHAIN, POLICY


def assert_same(one: Mechanism[Any], other: Mechanism[Any]) -> None:
    """The same kernel at the start: its integers where it has some, else what it draws and how likely that is."""
    first, second = one.kernel(one.start()), other.kernel(other.start())
    if is_finite(first):
        assert is_finite(second)
        assert first.outputs == second.outputs
        np.testing.assert_array_equal(first.weights, second.weights)
        return
    for seed in range(5):
        drawn = first.sample(seed % 3, SeededEntropy(seed))
        assert drawn == second.sample(seed % 3, SeededEntropy(seed))
        np.testing.assert_array_equal(first.likelihood(drawn), second.likelihood(drawn))


def test_every_mechanism_has_a_name() -> None:
    assert set(MADE) <= set(names())
    assert {getattr(mechanisms, name) for name in names().values()} == {Spec(name).maker for name in names()}


@pytest.mark.parametrize("name", MADE)
def test_text_makes_what_the_constructor_makes_in_this_process_and_after_pickling(name: str) -> None:
    texts, make = MADE[name]
    model, policy = model_for(name)
    spec = Spec.from_text(name, texts)
    there = pickle.loads(pickle.dumps(spec))
    assert there == spec
    assert hash(there) == hash(spec)
    assert Spec.from_table(spec.to_table()) == spec
    assert_same(there.make(model, policy), make(model, policy))
    assert Spec.from_text(names()[name], texts) == spec  # PaHmm for pa-hmm


@pytest.mark.parametrize("name", TOML)
def test_toml_makes_what_the_constructor_makes(name: str, tmp_path: Path) -> None:
    (tmp_path / "mechanism.toml").write_text(TOML[name])
    texts, make = MADE[name]
    more = ["lookahead=true"] if name == "fdh" else []
    spec = Spec.from_text(str(tmp_path / "mechanism.toml"), more)
    assert spec == Spec.from_text(name, texts)
    assert_same(spec.make(CHAIN, POLICY), make(CHAIN, POLICY))


@pytest.mark.parametrize(
    ("table", "graph"),
    [
        ({"kind": "complete"}, PolicyGraph.complete(3)),
        ({"kind": "categories", "categories": [["c2", "c0"], ["c1"]]}, PolicyGraph.categories([[0, 2], [1]])),
        ({"kind": "within", "radius": 2}, PolicyGraph.within(ANSWERS, 2)),
        ({"kind": "transitions"}, PolicyGraph.transitions(CHAIN)),
        ({"kind": "edges", "edges": [["c2", "c1"]]}, PolicyGraph.from_edges(3, [[1, 2]])),
    ],
)
def test_policy_graphs_by_kind(table: dict[str, object], graph: PolicyGraph) -> None:
    made = Spec("dphmm", {"graph": table, "query": POINTS, "epsilon": 1.0}).make(CHAIN, POLICY)
    assert isinstance(made, mechanisms.Dphmm)
    assert made.graph == graph


def test_several_queries_and_a_support_by_mass() -> None:
    other = {"c0": [3.0], "c1": [1.0], "c2": [2.0]}
    options = {"graph": {"kind": "complete"}, "query": [POINTS, other], "epsilon": [1, 0.5], "support": ["mass", 0.1]}
    made = Spec("dphmm", options).make(CHAIN, None)
    assert isinstance(made, mechanisms.Dphmm)
    assert [query.answers.integers.shape for query in made.queries] == [(3, 2), (3, 1)]
    assert made.epsilons == (1.0, 0.5)
    assert made.mass == 0.1
    same = Spec("dphmm", {**options, "query": [ANSWERS, [[3.0], [1.0], [2.0]]]}).make(CHAIN, None)
    assert_same(made, same)


def test_objects_from_python_are_taken_as_they_are() -> None:
    spec = Spec("fdh", {"hierarchy": d.Hierarchy(TREE)})
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert_same(spec.make(CHAIN, POLICY), Spec("fdh", {"hierarchy": TREE}).make(CHAIN, POLICY))
    array = Spec("dphmm", {"graph": PolicyGraph.complete(3), "query": np.array(ANSWERS), "epsilon": 1.0})
    assert_same(array.make(CHAIN, None), array.with_options(query=POINTS).make(CHAIN, None))
    with pytest.raises(DiscreetError, match="can be changed"):
        Spec("fdh", {"hierarchy": bytearray(b"tree")})


def test_events_are_handed_to_those_who_ask() -> None:
    model, policy = model_for("pa-markov")
    events = d.Events.of_contexts(model.contexts)
    made = Spec("pa-markov").make(model, policy, events=events)
    assert isinstance(made, mechanisms.PaMarkov)
    assert made.events is events
    assert isinstance(Spec("no-mask").make(model, policy, events=events), mechanisms.NoMask)


class Own(mechanisms.NoMask):
    """A researcher's own."""

    def __init__(self, model: DayModel, policy: d.Policy, *, grid: int = 10, share: float, way: str = "") -> None:
        super().__init__(model, policy)
        self.given = grid, share, way


def test_a_mechanism_of_ones_own() -> None:
    own = f"{__name__}:Own"
    made = Spec.from_text(own, ["grid=3", "share=1", "way=10"]).make(CHAIN, POLICY)
    assert isinstance(made, Own)
    assert made.given == (3, 1.0, "10")
    with pytest.raises(DiscreetError, match="did you mean 'grid'"):
        Spec.from_text(own, ["girds=3", "share=1"])
    with pytest.raises(DiscreetError, match="needs the option share: a number"):
        Spec.from_text(own)
    for wrong in ("no_such_module:Own", f"{__name__}:Nobody", ":Own", f"{__name__}:POINTS", f"{__name__}:"):
        with pytest.raises(DiscreetError, match="no mechanism"):
            Spec(wrong).make(CHAIN, POLICY)


class Half:
    """Machinery alone, and nothing that it promises."""

    def __init__(self, model: DayModel, policy: d.Policy) -> None:
        self.model, self.policy = model, policy

    start = kernel = advance = lambda self, *given: None


class Reversed(mechanisms.NoMask):
    """Called with a policy alone."""

    def __init__(self, policy: d.Policy) -> None:
        super().__init__(CHAIN, policy)


class Daily(mechanisms.NoMask):
    """Counts the slots of its model before anything else."""

    def __init__(self, model: DayModel, policy: d.Policy) -> None:
        self.numbers = list(range(model.slots))
        super().__init__(model, policy)


READY = mechanisms.NoMask(CHAIN, POLICY)


def test_what_is_wrong_with_ones_own_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_with_a_slip.py").write_text("def broken(:\n")
    (tmp_path / "own_that_needs_more.py").write_text("import a_library_that_is_not_there\n")
    for wrong, message in (
        ("own/mechanism.py:Own", "names a file; name the module, mechanism:Own"),
        ("no_such_module.inner:Own", "No module named 'no_such_module'"),
        ("own_with_a_slip:Own", "cannot be imported: SyntaxError"),
        ("own_that_needs_more:Own", "No module named 'a_library_that_is_not_there'; install"),
        (f"{__name__}:Owm", "has no 'Owm'; did you mean 'Own'"),
        (f"{__name__}:POINTS", "it lacks start, kernel, advance"),
        (f"{__name__}:READY", "it is no class"),
        (f"{__name__}:Reversed", r"takes \(policy.*let it take \(model, policy"),
        (f"{__name__}:Half", "it lacks guarantee, private_contexts, remember, worth; derive it from"),
    ):
        with pytest.raises(DiscreetError, match=message):
            Spec(wrong).make(CHAIN, POLICY)


def test_ones_own_of_single_days_is_made_for_each_kind_of_day() -> None:
    nights = [[1.0 if a == b else 0.0 for b in CHAIN.contexts] for a in CHAIN.contexts]
    routine = d.Routine({"day": CHAIN}, {("day", "day"): nights})
    spec = Spec(f"{__name__}:Daily")
    assert without_end(routine, lambda model: spec.make(model, POLICY), "2026-11-16") is None
    assert spec.make(routine.day("day"), POLICY).numbers == list(range(CHAIN.slots))  # type: ignore[attr-defined]


def test_published_and_other_names_that_are_none() -> None:
    with pytest.raises(DiscreetError, match=r"no mechanism 'published'.*adaptive, .*simulatable"):
        Spec("published")
    with pytest.raises(DiscreetError, match="did you mean 'hybrid'"):
        Spec("hibrid")


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("probabilistic", ["p=abc"], "option p is 'abc'; give numbers"),
        ("probabilistic", ["p=[[1, 2], [3]]"], "rows of one length"),
        ("hybrid", ["grid=1.5"], "option grid is 1.5; give a whole number"),
        ("hybrid", ["grid=true"], "give a whole number"),
        ("hybrid", ["lookahead=1"], "give true or false"),
        ("hybrid", ["search=finest"], "'best' or 'exact' or 'mondrian' or 'algpr'"),
        ("hybrid", ["grid"], "key=value"),
        ("hybrid", ["grid=1", "grid=2"], "twice"),
        ("hybrid", ["grid=[1"], "as in TOML"),
        ("no-mask", ["grid=1"], "it has none"),
        ("adaptive", ["value=3"], "only Python"),
        ("fdh", [], "needs the option hierarchy: a table of nodes"),
        ("fdh", ["hierarchy=top"], "a table of nodes"),
        ("fdh", ["hierarchy={a = {b = []}, c = {d = []}}"], "option hierarchy: nodes 'a' and 'c' both have no parent"),
        ("fdh", ["hierarchy={top = ['a']}", "chains=[1]"], "only Python"),
        ("set-labelled", ["labels={c0 = 'c1'}"], "option labels is {'c0': 'c1'}; give a table of a list"),
        ("set-labelled", ["labels={}", "mechanism=hibrid"], "did you mean 'hybrid'"),
        ("set-labelled", ["labels={}", "mechanism=mask-sensitive", "grid=3"], "no option 'grid'"),
        ("dphmm", ["graph={kind = 'star'}", "epsilon=1", "query=[1]"], "kind is 'star'; use 'complete'"),
        ("dphmm", ["graph={}", "epsilon=1", "query=[1]"], "kind is None"),
        ("dphmm", ["graph={kind = 'within'}", "epsilon=1", "query=[1]"], "needs radius"),
        ("dphmm", ["graph={kind = 'within', radius = 'r'}", "epsilon=1", "query=[1]"], "give a distance"),
        ("dphmm", ["graph={kind = 'within', radius = 1}", "epsilon=1"], "needs the option query"),
        ("dphmm", ["graph={kind = 'complete', radius = 1}", "epsilon=1", "query=[1]"], "has no 'radius'"),
        ("dphmm", ["graph={edges = [['a']]}", "epsilon=1", "query=[1]"], "no edge"),
        ("dphmm", ["graph={edges = 3}", "epsilon=1", "query=[1]"], "list of lists"),
        ("dphmm", ["graph={kind = 'complete'}", "epsilon=big", "query=[1]"], "a number or a list"),
    ],
)
def test_wrong_options_are_told_before_there_is_a_model(name: str, texts: list[str], message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        Spec.from_text(name, texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": {"edges": [["c0", "c9"]]}, "query": POINTS}, "context 'c9' is not one of the model's"),
        ({"graph": {"kind": "categories", "categories": [["c0", "c1"]]}, "query": POINTS}, "leaves out 'c2'"),
        ({"graph": {"kind": "categories", "categories": [["c0", "c0"], ["c1", "c2"]]}, "query": POINTS}, "twice"),
        ({"graph": {"kind": "complete"}, "query": {"c0": [0, 0], "c1": [1, 1]}}, "option query: .*leaves out 'c2'"),
        ({"graph": {"kind": "complete"}, "query": {**POINTS, "c9": [1, 1]}}, "context 'c9'"),
        ({"graph": {"kind": "within", "radius": 1}, "query": [POINTS, POINTS]}, "one query"),
    ],
)
def test_wrong_contexts_are_told_when_there_is_one(options: dict[str, object], message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        Spec("dphmm", {"epsilon": 1.0, **options}).make(CHAIN, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[mechanism", "not a TOML file"),
        ("name = 'fdh'", r"no table \[mechanism\]"),
        ("mechanism = 'fdh'", r"no table \[mechanism\]"),
        ("[mechanism]\ngrid = 3", "name is None"),
        ("[mechanism]\nname = 'hybrid'\ngrid = '3'", "option grid is '3'; give a whole number"),
        ("[mechanism]\nname = 'hybrid'\n[policy]\n", "'policy' beside"),
    ],
)
def test_files_that_are_wrong_name_themselves(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(content)
    with pytest.raises(DiscreetError, match=f"m.toml: .*{message}"):
        Spec.from_text(str(path))
    with pytest.raises(DiscreetError, match=r"none.toml: cannot be read"):
        Spec.read(tmp_path / "none.toml")


HOSTILE = [
    *("", "abc", "0", "-1", "0.5", "1e400", "nan", "true", "'2'", "2026-01-01", "é=", "[1]\nx = 2", "9" * 30),
    *("[]", "[[]]", "[1, 2]", "[[1]]", "['a']", "[2026-01-01]", "[" + "9" * 30 + "]", "{}", "{a = 1}", "{top = 3}"),
    *("{c0 = 1, c1 = 2, c2 = 3}", "{c0 = 'x', c1 = 1, c2 = 2}", "{c0 = [1]}", "{top = [[['c0']]]}", "{kind = []}"),
    *(
        "{kind = 'within', radius = -1}",
        "{kind = 'within', radius = nan}",
        "{edges = [[1, 2]]}",
        "{edges = [[[1], [2]]]}",
    ),
    *("{kind = 'edges', edges = []}", "{kind = 'categories', categories = [[{}]]}", "{kind = {}}", "dphmm", "a:b", "{"),
]

NEEDED: dict[str, dict[str, object]] = {
    "fdh": {"hierarchy": TREE},
    "dphmm": {"graph": {"kind": "complete"}, "query": POINTS, "epsilon": 1.0},
    "dpls": {"query": POINTS, "epsilon": 1.0},
    "set-labelled": {"labels": LABELS},
}


@pytest.mark.parametrize("name", MADE)
def test_whatever_is_written_is_taken_or_refused_with_a_word(name: str) -> None:
    """Each option of each mechanism with values of every kind: no other error than ours."""
    base, refused = Spec(name, NEEDED.get(name)), 0
    for option in (*base.parameters(), "zzz"):
        for text in HOSTILE:
            try:
                given = (
                    Spec.from_text(name, [f"{option}={text}"]) if name not in NEEDED else with_text(base, option, text)
                )
                if name in NEEDED:
                    given.make(CHAIN, POLICY)
            except DiscreetError:
                refused += 1
    assert refused >= len(HOSTILE)


def with_text(spec: Spec, option: str, text: str) -> Spec:
    """The spec with one more option, from text."""
    value = Spec.from_text(f"{__name__}:Anything", [f"it={text}"]).options["it"]
    return spec.with_options(**{option: value}).checked()


class Anything(mechanisms.NoMask):
    """Takes what comes."""

    def __init__(self, model: DayModel, policy: d.Policy, *, it: Any = None) -> None:
        super().__init__(model, policy)


def test_a_constructor_that_chokes_on_its_options_says_so() -> None:
    with pytest.raises(DiscreetError, match=r"Choking cannot use its options \{'on': 1\}: no such"):
        Spec(f"{__name__}:Choking", {"on": 1}).make(CHAIN, POLICY)
    with pytest.raises(TypeError, match="no such"):  # nothing was given that could be wrong: a fault of its own
        Spec(f"{__name__}:Choking").make(CHAIN, POLICY)


class Choking(mechanisms.NoMask):
    """A mechanism with a fault, and annotations that only type checkers can read."""

    def __init__(self, model: DayModel, policy: d.Policy, *, on: NoSuchName = None) -> None:  # type: ignore[name-defined]  # noqa: F821
        raise TypeError("no such thing")


def test_options_do_not_change() -> None:
    given = {"weights": [1.0, 0.5], "hierarchy": {"top": ["a"]}}
    options = Options(given)
    given["weights"].append(3.0)  # type: ignore[attr-defined]
    assert options.plain() == {"weights": [1.0, 0.5], "hierarchy": {"top": ["a"]}}
    assert options["weights"] == (1.0, 0.5)
    assert repr(options) == "{'weights': [1.0, 0.5], 'hierarchy': {'top': ['a']}}"
    assert len({options, Options(options), Options({"labels": {"b", "a"}}), Options({"labels": ["a", "b"]})}) == 2
    assert str(Spec("fdh", options)).startswith("fdh, weights=[1.0, 0.5], hierarchy=")


def test_names_cost_no_compiled_code() -> None:
    """A wrong name is told at once: the list of mechanisms imports none of them."""
    code = "import sys; from discreet.mechanisms.named import Spec; Spec('adaptive'); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_map_of_places_is_a_hierarchy(tmp_path: Path) -> None:
    """c0 lies in c1: whoever is in c1 may be in c0. Named on the command's side, or in a file beside the map."""
    map_ = Places([Place("c0", Circle(48, 11, 50)), Place("c1", Circle(48, 11, 500)), Place("c2", Circle(48, 12, 50))])
    write_places(tmp_path / "map.geojson", map_)
    spec = Spec.from_text("fdh", [f"hierarchy={tmp_path / 'map.geojson'}"])
    tree = d.Hierarchy(spec.options["hierarchy"].plain())
    assert tree == map_.hierarchy()
    assert tree.ancestors("c0") == ("in c1", "anywhere")
    assert_same(spec.make(CHAIN, POLICY), mechanisms.Fdh(CHAIN, POLICY, hierarchy=map_.hierarchy()))
    assert Spec.from_table(spec.to_table()) == spec  # the spec holds the tree, not the name of a file
    (tmp_path / "own.toml").write_text('[mechanism]\nname = "fdh"\nhierarchy = "map.geojson"\n', encoding="utf-8")
    assert Spec.read(tmp_path / "own.toml") == spec
    with pytest.raises(DiscreetError, match=r"none\.geojson: cannot be read"):
        Spec.from_text("fdh", ["hierarchy=none.geojson"])
    write_places(tmp_path / "map.geojson", Places([*map_.places, Place("c0", Circle(47, 11, 50))]))
    with pytest.raises(DiscreetError, match=r"map\.geojson: places called 'c0' lie in"):
        Spec.from_text("fdh", [f"hierarchy={tmp_path / 'map.geojson'}"])
