"""What newcomers get wrong: the call, what the error says was given and where, and the remedy that it names."""

from __future__ import annotations

import copy
import datetime as dt
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as d
from discreet import places
from discreet.data.published import check_target
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import MemoryMechanism
from discreet.mechanisms.named import Spec
from discreet.policy_file import toml_content
from discreet.publish.manifest import verify_table

LABELS = ("home", "clinic", "work")
MATRIX = [[0.6, 0.1, 0.3], [0.9, 0.1, 0.0], [0.3, 0.0, 0.7]]
CHAIN = d.MarkovChain.homogeneous(LABELS, [0.8, 0.0, 0.2], MATRIX, slots=4)
POLICY = d.Policy(["clinic"], delta=0.1)
DAYS = [d.Day(("home", "work", "clinic", "home"), f"2026-03-0{k}") for k in range(1, 8)]
TRAJECTORIES = [d.Trajectory("ann", (d.Event("run", "night", "park"), d.Event("eat", "night", "home")))]


class Half:
    """Somebody's own mechanism, half written."""

    model, policy = CHAIN, POLICY
    private_contexts = np.arange(3)
    guarantee = d.Guarantee("none", "nothing")

    def start(self) -> int:
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        return FiniteKernel((d.Suppressed(),), [[1]] * 3, 1)

    def remember(self, memory: int | None, context: int) -> int:
        return context


class NoUtility(Half):
    """The same with all but what the laws ask for."""

    def advance(self, state: int, output: d.Output) -> int:
        return state + 1

    def worth(self, context: str, output: d.Output) -> float:
        return 0.0


class Remembers(MemoryMechanism):
    guarantee = d.Guarantee("none", "nothing")

    def start(self) -> int:
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        return FiniteKernel.rounded((d.Suppressed(),), self.rows([[1.0]]))

    def advance(self, state: int, output: d.Output) -> int:
        return state + 1


NAMES: dict[str, Any] = {
    "d": d,
    "m": d.mechanisms,
    "Spec": Spec,
    "FiniteKernel": FiniteKernel,
    "np": np,
    "pl": pl,
    "dt": dt,
    "io": io,
    "copy": copy,
    "pickle": pickle,
    "chain": CHAIN,
    "policy": POLICY,
    "days": DAYS,
    "labels": LABELS,
    "matrix": MATRIX,
    "events": TRAJECTORIES,
    "Half": Half,
    "NoUtility": NoUtility,
    "Remembers": Remembers,
    "routine": d.Routine.fit(DAYS),
    "clock": d.Clock(4),
    "mask": d.mechanisms.MaskSensitive(CHAIN, POLICY),
    "Path": Path,
    "places": places,
    "toml_content": toml_content,
    "verify_table": verify_table,
    "check_target": check_target,
    "outs": (d.Released("a"), d.Suppressed()),
}

TABLE = "{'user': ['p'], 'timestamp': ['2026-01-01T00:00'], 'context': ['home']}"

MISTAKES: tuple[tuple[str, str, str], ...] = (
    # --- mechanisms: model, then policy
    ("m.MaskSensitive(policy, chain)", "MaskSensitive: model and policy are swapped", "write MaskSensitive(model, pol"),
    ("m.Adaptive(policy, chain)", "Adaptive: model and policy are swapped", "write Adaptive(model, policy)"),
    ("Spec('hybrid').make(policy, chain)", "Hybrid: model and policy are swapped", "write Hybrid(model, policy)"),
    ("m.Adaptive(chain, ['clinic'])", "the policy is a list of 1", "put the secrets into a policy: Policy([...]"),
    ("m.Adaptive(chain, 'clinic')", "the policy is the text 'clinic'", "put the secrets into a policy"),
    ("m.Adaptive(chain, d.Secret('clinic'))", "the policy is a Secret", "put it into a policy: Policy([secret]"),
    ("m.Adaptive(chain, 0.1)", "the policy is the number 0.1", "Policy(['clinic'], delta=0.1)"),
    ("m.Adaptive(chain, None)", "the policy is None", "give Policy("),
    ("m.Adaptive(chain, d.Policy)", "the policy is the class Policy", "give Policy("),
    ("m.Adaptive(chain, chain)", "the policy is a model", "give Policy("),
    ("m.Adaptive(policy, policy)", "the model is a policy", "such as MarkovChain.fit(days)"),
    ("m.Adaptive(d.MarkovChain, policy)", "the model is the class MarkovChain", "such as MarkovChain.fit(days)"),
    ("m.Hybrid(days, policy)", "Hybrid: the model is a list of 7", "such as MarkovChain.fit(days)"),
    ("m.Adaptive('p01.model', policy)", "the model is the text 'p01.model'", "give a MarkovChain"),
    ("m.Adaptive(np.array(matrix), policy)", "the model is a ndarray", "give a MarkovChain"),
    ("m.Adaptive(routine, policy)", "a routine has no first day", "give routine.since(date)"),
    ("m.Adaptive(d.MarkovChain.fit(days, by='weekpart'), policy)", "parts of the week", "models.for_date(date)"),
    ("m.Adaptive(chain, policy, outputs='lie')", "outputs='lie' is not known", "use 'suppress'"),
    ("m.Adaptive(chain, d.Policy(['clinc']))", "'clinc', which the model has never seen", "did you mean 'clinic'?"),
    ("m.Dphmm(policy, chain, graph=None, query=1, epsilon=1)", "model and policy are swapped", "Dphmm(model, policy)"),
    ("d.compare(policy, chain, days)", "compare: model and policy are swapped", "write compare(model, policy)"),
    ("d.limit(policy, chain)", "limit: model and policy are swapped", "write limit(model, policy)"),
    ("Spec('adaptve')", "there is no mechanism 'adaptve'", "did you mean 'adaptive'?"),
    # --- where a mechanism is wanted
    ("d.Session(m.Adaptive)", "the mechanism is the class Adaptive", "make one, Adaptive(model, policy)"),
    ("d.Session(chain)", "Session: the mechanism is a model", "such as mechanisms.Adaptive(model, policy)"),
    ("d.Session('adaptive')", "the mechanism is the text 'adaptive'", "make one, such as mechanisms.Adaptive("),
    ("d.Session(Spec('adaptive'))", "a Spec, which has no model yet", "use spec.make(model, policy)"),
    ("d.Session(None)", "the mechanism is None", "make one"),
    (
        "d.Session(Half())",
        "a Half is no mechanism, because it lacks advance, worth",
        "derive it from discreet.mechanisms",
    ),
    ("d.laws.check(NoUtility())", "a NoUtility is no mechanism, because it lacks expected_utility", "ContextMechanism"),
    ("d.audit(policy, mask)", "audit: the mechanism is a policy", "make a mechanism of model and policy"),
    ("d.audit(mask, chain)", "audit: the policy is a model", "give Policy("),
    (
        "d.audit(mask, budget='100')",
        "the audit's budget of kernels is '100'",
        "a whole number, 1 or more, without quotes",
    ),
    ("d.audit(mask, seconds='3')", "the audit may take '3' seconds", "give a number"),
    ("d.evaluate(m.Adaptive, days)", "evaluate: the mechanism is the class Adaptive", "make one"),
    ("d.evaluate(days, mask)", "evaluate: the mechanism is a list of 7", "make one"),
    (
        "d.compare(chain, policy, days, [mask])",
        "a mechanism is a MaskSensitive, made already",
        "give its class, a name",
    ),
    ("d.compare(chain, policy, days, 5)", "the mechanisms are the number 5", "give a list of names"),
    ("Remembers(chain, policy).kernel(0)", "a kernel's rows have shape (1, 1)", "give (3, 3, outputs)"),
    # --- days, dates and clocks
    ("d.Day('home')", "a day is one string, 'home'", "give a tuple of labels, one a slot"),
    ("d.Day(3)", "a day's contexts are the number 3", "give a tuple of labels"),
    ("d.Day(('home', None))", "slot 1 of a day", "use 'unknown' where there is no reading"),
    ("d.Day(('home',), date='01/02/2026')", "the date of a day is '01/02/2026'", "write it as YYYY-MM-DD"),
    ("d.Day(('home',), 'ann')", "the date of a day is 'ann'", "write it as YYYY-MM-DD"),
    ("d.Day(('home',), date=20260101)", "the date of a day is the number 20260101", "text such as '2026-11-16'"),
    (
        "d.Day(('home',), date=dt.datetime(2026, 1, 1, 8))",
        "2026-01-01T08:00:00, which has a time of day",
        "clock.locate(",
    ),
    ("d.Day(('home',), person=3)", "the person of a day is the number 3", "give a name as text"),
    ("routine.since(dt.datetime(2026, 3, 2, 8, 30))", "which has a time of day", "or '2026-03-02'"),
    ("routine.since('next week')", "'next week', which is no date", "write it as YYYY-MM-DD"),
    ("routine.since(None)", "the date is None", "give a date"),
    ("routine.day('monday')", "no kind of day 'monday'", "kinds: weekday, weekend"),
    ("d.Clock('4')", "cannot be cut into '4' slots", "use a divisor of 86400"),
    ("d.Clock(4, zone='Paris')", "time zone 'Paris' is not known", "did you mean 'Europe/Paris'?"),
    ("d.Clock(4, zone=dt.timezone(dt.timedelta(hours=1)))", "UTC+01:00 is an offset", "a name such as 'Europe/Paris'"),
    ("d.Clock(4, cut='4am')", "the clock's cut is '4am'", "write it as HH:MM"),
    ("clock.locate('2026-01-01T08:00')", "the timestamp is the text", "give a datetime"),
    ("d.Session(mask).release(3)", "the reading is the number 3", "None where there is no reading"),
    ("d.Session(mask, rng=3)", "Session: rng is the number 3", "SeededEntropy(seed)"),
    # --- models
    ("d.MarkovChain.homogeneous(labels, [1, 0, 0], matrix, slots='4')", "slots is '4'", "without quotes"),
    ("d.MarkovChain(labels, [1, 0, 0], matrix)", "transitions is one matrix", "use MarkovChain.homogeneous"),
    ("d.MarkovChain(5, [1, 0, 0], [matrix])", "contexts is the number 5", "give a tuple of labels"),
    ("d.MarkovChain(labels, [1, 0, 1], [matrix])", "initial sums to 2", "divide the row by its sum"),
    ("d.MarkovChain.fit(days[0])", "MarkovChain.fit: the days are a Day", "give a list of days"),
    ("d.MarkovChain.fit(['home', 'work'])", "day 0 is 'home'", "a day is a sequence of labels"),
    ("d.MarkovChain.fit([1, 2])", "day 0 is 1", "a day is a sequence of labels"),
    ("d.MarkovChain.fit(None)", "the days are None", "a data frame of pandas or polars"),
    (f"d.MarkovChain.fit(pl.DataFrame({TABLE}))", "no clock says how days are cut", "give clock=Clock(slots=48"),
    ("d.MarkovChain.fit(days, clock='4')", "the clock is the text '4'", "give Clock(slots=4"),
    ("d.Routine(chain, {})", "the days of a routine are a MarkovChain", "such as {'day': chain}"),
    ("chain.index_of('hom')", "'hom' is not a context of the model", "did you mean 'home'?"),
    ("chain.sample('3', 1)", "the number of days is '3'", "without quotes"),
    ("d.save(policy, 'x.model')", "save: the path is a Policy", "give the name of a file, first"),
    ("d.save('x.model', policy)", "save: the model is a Policy", "after the path"),
    ("d.load(chain)", "load: the path is a MarkovChain", "give the name of a file"),
    ("d.carry_forward(days, '2')", "carried for is '2'", "without quotes"),
    ("d.merge_rare(days, '0.1')", "contexts are merged is '0.1'", "a number from 0 to below 1"),
    # --- policies
    ("d.Policy(0.1, ['clinic'])", "the secrets of a policy are the number 0.1", "and delta= by its name"),
    ("d.Policy({'clinic': 0.1})", "the secrets of a policy are a dict of 1", "give a list"),
    ("d.Policy(['clinic'], delta='0.1')", "delta of the policy is '0.1'", "from 0 to 1, without quotes"),
    ("d.Policy([3])", "the name of a secret is the number 3", "give text"),
    ("d.Secret({'clinic'})", "the name of a secret is a set of 1", "its contexts after it"),
    ("d.Secret('x', {'y'}, slots='4')", "slots of secret 'x' is '4'", "such as range(44, 48)"),
    # --- kernels
    ("FiniteKernel(outs, [[1, 2]], 3)", "a kernel's total is 3", "FiniteKernel.rounded(outputs, weights / 3, filler)"),
    ("FiniteKernel(outs, [[0.5, 0.5]], 1)", "a kernel's weights are probabilities", "FiniteKernel.rounded(outputs"),
    # --- tables
    ("d.data.read_days({'user': ['a']}, clock)", "the rows are a dict of 1", "such as polars.DataFrame(...)"),
    ("d.data.read_days(b'user', clock)", "the rows are a bytes", "give io.BytesIO(...)"),
    ("d.data.read_days(pl.DataFrame, clock)", "the rows are the class DataFrame", "an open file"),
    ("d.data.read_days(io.StringIO('x'), 4)", "the clock is the number 4", "give Clock(slots=48"),
    (
        "d.data.read_days(pl.DataFrame({'user': ['a']}), clock)",
        "the data frame: there is no column",
        "name the right one",
    ),
    (
        f"d.data.read_days(pl.DataFrame({TABLE}), clock)",
        "the data frame, row 1, column 'timestamp'",
        "pass naive_zone=",
    ),
    ("d.evaluate(mask, 'readings.csv')", "evaluate: these are readings", "learn the model with clock="),
    ("d.evaluate(mask, [('home',)])", "a day is a tuple of 1", "give Day(contexts, date=...)"),
    ("d.publish(policy, events)", "publish: the plan is a Policy", "Plan.learn(trajectories, policy)"),
    (
        "d.Plan.learn(events, ['activity=run'])",
        "Plan.learn: the policy is a list of 1",
        "put the secrets into a policy",
    ),
    ("d.Plan.learn(5, policy)", "the trajectories are the number 5", "give a list of them"),
    ("d.publish(d.Plan(None, policy), events, 'out.csv')", "write is the text 'out.csv'", "take report.published"),
    (
        "d.Plan.learn(events, d.Policy([d.Secret('run', {'activity=run'}, slots=range(2))]))",
        "'run' is limited to slots, which events do not have",
        "leave that out",
    ),
    (
        "d.Plan.learn(events, d.Policy(['activity=run']), piece_length=-3)",
        "pieces of -3 events",
        "(piece_length=None)",
    ),
    ("d.data.read_days('s3://bucket/t.csv', clock)", "s3://bucket/t.csv: addresses are not on", "with --engine spark"),
    ("d.data.read_days('https://host.example/t.csv', clock)", "addresses are not on this engine", "copy it here"),
    ("d.data.read_positions('gs://bucket/t.parquet')", "gs://bucket/t.parquet: addresses are", "copy it here"),
    ("d.load('s3://bucket/x.model')", "s3://bucket/x.model: addresses are not", "files of this machine; copy it here"),
    ("places.read_places('s3://bucket/p.geojson')", "p.geojson: addresses are not on", "copy it here"),
    ("toml_content(Path('s3://bucket/policy.toml'))", "policy.toml: addresses are not on", "copy it here"),
    ("verify_table(Path('s3://bucket/t.csv'))", "s3://bucket/t.csv: addresses are not on", "copy it here"),
    (
        "check_target(Path('s3://bucket/t.csv'), Path('t.csv'))",
        "addresses are not on",
        "file of this machine, and copy",
    ),
    ("d.attack(days, days, policy)", "its outputs are a Day", "one output a slot"),
    ("d.compare(chain, policy, days, picture=3)", "3: pictures are PNG, SVG or PDF", "end the name in .png"),
    ("d.Plan.learn(events, policy, piece_length='4')", "the length of pieces is the text '4'", "without quotes"),
    ("d.carry_forward('x', 1)", "day 0 to fill is the text 'x'", "give a list of Day(contexts"),
    ("places.Places([3])", "a place of the map is the number 3", "give Place(name, Circle("),
    ("places.find_places(None, clock)", "the sightings are None", "read_sightings(table).people[name]"),
    ("d.attack(days, mask, policy)", "the outputs are a MaskSensitive", "with one output a slot"),
    ("d.compare(chain, policy, days, picture='x.jpg')", "x.jpg: pictures are PNG, SVG or PDF", "end the name in .png"),
    # --- copies of a session
    ("copy.copy(d.Session(mask))", "neither copied nor pickled: two of them would draw twice", "Session.resume"),
    ("copy.deepcopy(d.Session(mask))", "would draw twice", "keep session.checkpoint()"),
    ("pickle.dumps(d.Session(mask))", "the copy would hold the truth", "session.private"),
)


@pytest.mark.parametrize(("call", "what", "remedy"), MISTAKES, ids=[call for call, _, _ in MISTAKES])
def test_a_mistake_has_a_sentence(
    call: str, what: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(d.DiscreetError) as told:
        eval(call, dict(NAMES))
    assert what in str(told.value)
    assert remedy in str(told.value)
    assert list(tmp_path.iterdir()) == []  # nothing is half-written


def test_the_table_is_of_fifty_and_more() -> None:
    assert len({call for call, _, _ in MISTAKES}) == len(MISTAKES) >= 50


@pytest.mark.parametrize(
    ("module", "name", "near"), [(d, "Markovchain", "MarkovChain"), (d.mechanisms, "Adaptve", "Adaptive")]
)
def test_a_name_that_is_not_there_has_a_hint(module: object, name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean '{near}'"):
        getattr(module, name)
