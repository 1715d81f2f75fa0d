"""S-PPATP's tables and figures, with what the paper tells of its own beside them: the curves of its figures are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from discreet.experiments.charts import plots
from discreet.experiments.s_ppatp.publishers import FATES, NAMES, SYSTEMS, Cell, Kind, Outcome, Subject, System
from discreet.experiments.shared.figures import Figure
from discreet.experiments.shared.tables import Cell as Value
from discreet.experiments.shared.tables import Table, mean
from discreet.mechanisms.events.pa_hmm import BUDGET
from discreet.models.topics import TopicModel

DataSet = Literal["simulated", "dining", "check-ins"]

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of Table 4; those of the figures are lost."""

COMPOSED = (0.2, 0.65)
"""The deltas of Figure 8: PA-HMM's and PA-Markov's."""

PAPER_BREACHES: dict[System, tuple[float, ...]] = {
    "pa-markov": (0, 0, 0, 0, 0),
    "no-internal": (0.564, 0.024, 0, 0, 0),
    "pa-hmm": (0, 0, 0, 0, 0),
    "sensitive-mask": (0, 0, 0, 0, 0),
}
PAPER_NO_MASK = {"chains": (0.244, 0.244, 0.244, 0.244, 0), "topics": (0.201, 0.001, 0, 0, 0)}
PAPER_UTILITY: dict[System, tuple[float, ...]] = {
    "pa-markov": (0.387, 0.481, 0.482, 0.686, 0.968),
    "pa-hmm": (0.88, 0.934, 0.936, 0.938, 0.938),
}
"""Table 4, for DELTAS."""

PAPER_SECONDS: dict[DataSet, dict[str, float]] = {
    "dining": {"no-mask": 0.001, "sensitive-mask": 0.001, "pa-markov": 60, "pa-hmm": 180, "pa-hmm online": 0.001},
    "check-ins": {"no-mask": 0.001, "sensitive-mask": 0.001, "pa-markov": 58, "pa-hmm": 180, "pa-hmm online": 0.001},
}
"""Table 5: D11 and D15, 50 people each; "less than 1 ms" is given as 1 ms."""

MARKOV: tuple[System, ...] = ("no-mask", "no-internal", "pa-markov", "adaptive-attributes")
HIDDEN: tuple[System, ...] = ("no-mask", "sensitive-mask", "pa-hmm", "adaptive-events")
SHOWN_IN: dict[str, tuple[System, ...]] = {"4": MARKOV, "5": HIDDEN, "6": MARKOV, "7": HIDDEN}

SECRET: dict[Kind, str] = {
    "activity": "an activity",
    "time": "a time",
    "location": "a location",
    "all": "one of each",
    "one": "one of any",
}


@dataclass(frozen=True)
class Setting:
    """How the experiments are run."""

    topics: int = 4
    window: int = 50
    sets: int = 3
    simulated_topics: int = 4
    sweeps: int = 2_000
    budget: int = BUDGET
    seed: int = 0


@dataclass(frozen=True)
class Group:
    """A data set: its people, who judges, and what every system did."""

    data: DataSet
    model: TopicModel
    people: Sequence[Subject]
    found: Sequence[dict[Cell, Outcome]]

    @property
    def judge(self) -> str:
        """The model that judges."""
        if self.data == "simulated":
            return f"judged by the event HMM of {self.model.topics} topics that made the data"
        found = self.model.diagnostics
        doubt = "" if found is None or found.converged else f" (not converged, R-hat {found.r_hat:.2f})"
        return f"judged by the event HMM of {self.model.topics} topics{doubt}"

    def outcomes(self, kind: Kind, delta: float, system: System) -> list[Outcome]:
        """Of each person; "one" is the kind of each person's own attribute where that was run."""
        return [
            outcomes.get((kind, delta, system)) or outcomes[(one.one, delta, system)]
            for one, outcomes in zip(self.people, self.found, strict=True)
        ]

    def rate(
        self, kind: Kind, delta: float, system: System, measure: Callable[[Outcome], float | None]
    ) -> float | None:
        """The mean over people (Eq. 2), or None where it is not defined."""
        values = [value for one in self.outcomes(kind, delta, system) if (value := measure(one)) is not None]
        return mean(values) if values else None


def utility(one: Outcome) -> float:
    """The share of attributes shown."""
    return one.utility


def exact(one: Outcome) -> float:
    """The breach rate by Bayes."""
    return one.breach_rate


def reckoned(one: Outcome) -> float | None:
    """The breach rate as the paper reckons."""
    return one.by_topics if one.by_chains is None else one.by_chains


def _row(group: Group, kind: Kind, delta: float, system: System) -> dict[str, Value]:
    found = group.outcomes(kind, delta, system)
    return {
        "secret": SECRET[kind],
        "delta": delta,
        "system": NAMES[system],
        "utility": group.rate(kind, delta, system, utility),
        "breach rate": group.rate(kind, delta, system, exact),
        "by chains": group.rate(kind, delta, system, lambda one: one.by_chains),
        "by topics": group.rate(kind, delta, system, lambda one: one.by_topics),
        "worst gain": max(one.worst_gain for one in found),
        "off model": sum(one.off_model for one in found),
    }


def _each(group: Group, kinds: Sequence[Kind], deltas: Sequence[float], systems: Sequence[System]) -> Table:
    """A row a person, who is a number."""
    rows: list[dict[str, Value]] = []
    for kind in kinds:
        for delta in deltas:
            for system in systems:
                for one, found in zip(group.people, group.outcomes(kind, delta, system), strict=True):
                    rows.append(
                        {
                            "person": one.number,
                            "events": len(one.window),
                            "triples": len(one.events.contexts),
                            "secret": SECRET[kind],
                            "delta": delta,
                            "system": NAMES[system],
                            "utility": found.utility,
                            "breach rate": found.breach_rate,
                            "by chains": found.by_chains,
                            "by topics": found.by_topics,
                            "worst gain": found.worst_gain,
                            "off model": found.off_model,
                        }
                    )
    return Table.of(rows)


MEASURED = (
    "breach rate: the paper's Eq. 2, the mean over people of the share of positions where some secret's gain, given the "
    "whole output, is over delta; by Bayes, with the model that judges",
    "by chains, by topics: the same as the paper reckons it for PA-Markov (Eq. 14 to 16, 24) and for PA-HMM (Eq. 20 to 22)",
)


def _panel(
    title: str, group: Group, kind: Kind, systems: Sequence[System], measure: Callable[[Outcome], float | None], up: str
) -> plots.Panel:
    lines: dict[str, tuple[float, ...]] = {}
    for system in systems:
        values = [group.rate(kind, delta, system, measure) for delta in DELTAS]
        if None not in values:
            lines[NAMES[system]] = tuple(value for value in values if value is not None)
    return plots.Panel(title, "delta", DELTAS, lines, up)


def _about(group: Group, setting: Setting) -> str:
    own = "" if group.data == "simulated" else " over each person's own triples"
    return f"{len(group.people)} people, {setting.window} events each, {group.judge}{own}"


def table4(group: Group, setting: Setting) -> Figure:
    """Breach rates and utilities on simulated data."""
    rows = []
    for place, delta in enumerate(DELTAS):
        for system in SYSTEMS:
            row = _row(group, "activity", delta, system)
            del row["secret"]
            told: float | str | None = PAPER_BREACHES[system][place] if system in PAPER_BREACHES else None
            if system == "no-mask":
                told = f"{PAPER_NO_MASK['chains'][place]:g} / {PAPER_NO_MASK['topics'][place]:g}"
            row["paper's breach rate"] = told
            row["paper's utility"] = PAPER_UTILITY[system][place] if system in PAPER_UTILITY else None
            rows.append(row)
    title = "Table 4: simulated data, one activity is secret"
    note = f"{setting.sets} data sets: {_about(group, setting)}"
    reckonings: tuple[tuple[str, tuple[System, ...], Callable[[Outcome], float | None]], ...] = (
        ("exact", SYSTEMS, exact),
        ("as the paper reckons, by chains", ("no-mask", "no-internal", "pa-markov"), lambda one: one.by_chains),
        ("as the paper reckons, by topics", ("no-mask", "sensitive-mask", "pa-hmm"), lambda one: one.by_topics),
    )
    panels = (
        tuple(_panel(how, group, "activity", systems, of, "breach rate") for how, systems, of in reckonings),
        (_panel("what is shown", group, "activity", SYSTEMS, utility, "utility"),),
    )
    people = _each(group, ("activity",), DELTAS, SYSTEMS)
    draw = partial(plots.grid, title, note, panels)
    return Figure(
        "table4", title, note, Table.of(rows), people, (*MEASURED, "NoMask in the paper: by chains / by topics"), draw
    )


def breaches(which: Literal["4", "5", "6", "7"], group: Group, setting: Setting) -> Figure:
    """Figures 4 to 7: breach rates over delta, for secrets of each attribute and of one."""
    systems = SHOWN_IN[which]
    kinds: tuple[Kind, ...] = ("all", "one")
    rows = [_row(group, kind, delta, system) for kind in kinds for delta in DELTAS for system in systems]
    side = "PA-Markov" if "pa-markov" in systems else "PA-HMM"
    title = f"Figure {which}: breach rates on {group.data}, {side} and its baselines"
    note = _about(group, setting)
    measure: Callable[[Outcome], float | None] = (
        (lambda one: one.by_chains) if "pa-markov" in systems else (lambda one: one.by_topics)
    )
    panels = tuple(
        tuple(_panel(f"{how}: {SECRET[kind]}", group, kind, systems, of, "breach rate") for kind in kinds)
        for how, of in (("exact", exact), ("as the paper reckons", measure))
    )
    draw = partial(plots.grid, title, note, panels)
    return Figure(f"figure{which}", title, note, Table.of(rows), _each(group, kinds, DELTAS, systems), MEASURED, draw)


def _both(groups: Sequence[Group]) -> str:
    """Who is looked at and who judges, in a line that fits a chart."""
    parts = []
    for group in groups:
        found = group.model.diagnostics
        doubt = "" if found is None or found.converged else " (not converged)"
        parts.append(f"{group.data}: {len(group.people)} people, event HMM of {group.model.topics} topics{doubt}")
    return "judges: " + "; ".join(parts)


def figure8(groups: Sequence[Group], setting: Setting) -> Figure:
    """What is published and what is withheld, of what is secret and of the rest."""
    rows: list[dict[str, Value]] = []
    bars = []
    shown_at: tuple[tuple[System, float], ...] = (
        ("pa-markov", 0.65),
        ("adaptive-attributes", 0.65),
        ("pa-hmm", 0.2),
        ("adaptive-events", 0.2),
    )
    for group in groups:
        for system, delta in shown_at:
            found = group.outcomes("one", delta, system)
            shares = {fate: mean([one.fates[k] for one in found]) for k, fate in enumerate(FATES)}
            rows.append({"data": group.data, "system": NAMES[system], "delta": delta, **shares})
            bars.append(plots.Bar(f"{group.data}, {NAMES[system]} {delta:g}", shares))
    title = "Figure 8: what is published and what is withheld"
    note = _both(groups)
    remarks = (
        "shares of the attributes for PA-Markov and Adaptive attributes, of the events for PA-HMM and Adaptive events: "
        "an event is secret if a value in it is; one secret a person, deltas as in the paper",
    )
    draw = partial(
        plots.bars, title, note, tuple(bars), fates=plots.PUBLISHED, across="share of the attributes, or of the events"
    )
    return Figure("figure8", title, note, Table.of(rows), Table((), ()), remarks, draw)


def figure9(groups: Sequence[Group], setting: Setting) -> Figure:
    """Utility over delta by what is secret: PA-Markov, and Adaptive with attributes."""
    kinds: tuple[Kind, ...] = ("activity", "time", "location", "all")
    title = "Figure 9: utility by what is secret, attribute by attribute"
    return _utilities("figure9", title, groups, setting, ("pa-markov", "adaptive-attributes"), kinds)


def _utilities(
    name: str, title: str, groups: Sequence[Group], setting: Setting, systems: Sequence[System], kinds: Sequence[Kind]
) -> Figure:
    rows: list[dict[str, Value]] = []
    panels = []
    for system in systems:
        beside = []
        for group in groups:
            lines = {
                SECRET[kind]: tuple(group.rate(kind, delta, system, utility) or 0.0 for delta in DELTAS)
                for kind in kinds
            }
            beside.append(plots.Panel(f"{NAMES[system]}, {group.data}", "delta", DELTAS, lines))
            rows += [
                {
                    "data": group.data,
                    "system": NAMES[system],
                    "delta": delta,
                    **{key: ys[k] for key, ys in lines.items()},
                }
                for k, delta in enumerate(DELTAS)
            ]
        panels.append(tuple(beside))
    note = _both(groups)
    draw = partial(plots.grid, title, note, tuple(panels), legend="what is secret")
    return Figure(name, title, note, Table.of(rows), Table((), ()), (), draw)


def figure10(groups: Sequence[Group], setting: Setting) -> Figure:
    """Utility over delta by the number of topics: PA-HMM, and Adaptive with whole events."""
    title = "Figure 10: utility by the number of topics, whole events"
    systems: tuple[System, ...] = ("pa-hmm", "adaptive-events")
    data = list(dict.fromkeys(group.data for group in groups))
    rows: list[dict[str, Value]] = []
    panels = []
    for system in systems:
        beside = []
        for name in data:
            own = {group.model.topics: group for group in groups if group.data == name}
            lines = {
                f"{count} topics": tuple(group.rate("one", delta, system, utility) or 0.0 for delta in DELTAS)
                for count, group in own.items()
            }
            beside.append(plots.Panel(f"{NAMES[system]}, {name}", "delta", DELTAS, lines))
            for count, group in own.items():
                found = group.model.diagnostics
                for k, delta in enumerate(DELTAS):
                    rows.append(
                        {
                            "data": name,
                            "system": NAMES[system],
                            "topics": count,
                            "R-hat": None if found is None else found.r_hat,
                            "delta": delta,
                            "utility": lines[f"{count} topics"][k],
                            "breach rate": group.rate("one", delta, system, exact),
                        }
                    )
        panels.append(tuple(beside))
    counts = {group.data: len(group.people) for group in groups}
    note = f"{', '.join(f'{name}: {count} people' for name, count in counts.items())}; one secret a person; each model judges what it publishes"
    draw = partial(plots.grid, title, note, tuple(panels), legend="hidden states")
    remarks = ("R-hat over 1.05: the sampler's chains ended in different places, and the best of them is the model",)
    return Figure("figure10", title, note, Table.of(rows), Table((), ()), remarks, draw)


def table5(groups: Sequence[Group], setting: Setting) -> Figure:
    """Seconds for all people: tables and searches before the first event, and publishing."""
    rows: list[dict[str, Value]] = []
    timings = []
    for group in groups:
        scale = 50 / len(group.people)
        for system in SYSTEMS:
            found = group.outcomes("all", 0.3, system)
            offline, online = sum(one.offline for one in found), sum(one.online for one in found)
            paper = PAPER_SECONDS[group.data].get(system)
            row: dict[str, Value] = {"data": group.data, "system": NAMES[system]}
            row |= {"prepared, s": offline, "published, s": online, "of 50 people, s": scale * (offline + online)}
            rows.append({**row, "paper, s": paper})
            timings.append(plots.Timing(f"{group.data}, {NAMES[system]}", scale * (offline + online), paper))
            if system == "pa-hmm":
                timings.append(
                    plots.Timing(
                        f"{group.data}, PA-HMM online", scale * online, PAPER_SECONDS[group.data]["pa-hmm online"]
                    )
                )
    title = "Table 5: running time for 50 people of 50 events"
    note = (
        "; ".join(f"{group.data}: {len(group.people)} people" for group in groups)
        + ", secrets of each attribute, delta 0.3"
    )
    remarks = (
        "published: with what every event tells an exact observer of every position; the paper's times are for its algorithms "
        "alone, on a machine it does not describe",
    )
    draw = partial(plots.timings, title, note, tuple(timings))
    return Figure("table5", title, note, Table.of(rows), Table((), ()), remarks, draw)
