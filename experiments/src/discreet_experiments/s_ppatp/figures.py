"""S-PPATP's tables and figures, with what the paper tells of its own beside them: its curves are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from discreet.charts.canvas import BLUE, GREEN, INK, NAVY, ORANGE, SKY
from discreet.mechanisms.events.pa_hmm import BUDGET
from discreet.models.topics.model import TopicModel
from discreet_experiments.charts import bars as bar_charts
from discreet_experiments.charts import lines, marks
from discreet_experiments.charts.lines import Look
from discreet_experiments.s_ppatp.person import FATES, PRINTED, SYSTEMS, Cell, EventSubject, Publication, SecretKind
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.sheets import Cell as Value
from discreet_experiments.shared.sheets import Sheet, mean
from discreet_experiments.shared.systems import PROVEN, label, system

EventData = Literal["simulated", "dining", "check-ins"]

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of Table 4; those of the figures are lost."""

COMPOSED = (0.2, 0.65)
"""The deltas of Figure 8: PA-HMM's and PA-Markov's."""

PAPER_BREACHES: dict[str, tuple[float, ...]] = {
    "pa-markov": (0, 0, 0, 0, 0),
    "no-internal": (0.564, 0.024, 0, 0, 0),
    "pa-hmm": (0, 0, 0, 0, 0),
    "sensitive-mask": (0, 0, 0, 0, 0),
}
PAPER_NO_MASK = {"chains": (0.244, 0.244, 0.244, 0.244, 0), "topics": (0.201, 0.001, 0, 0, 0)}
PAPER_UTILITY: dict[str, tuple[float, ...]] = {
    "pa-markov": (0.387, 0.481, 0.482, 0.686, 0.968),
    "pa-hmm": (0.88, 0.934, 0.936, 0.938, 0.938),
}
"""Table 4, for DELTAS."""

PAPER_SECONDS: dict[EventData, dict[str, float]] = {
    "dining": {"no-mask": 0.001, "sensitive-mask": 0.001, "pa-markov": 60, "pa-hmm": 180, "pa-hmm online": 0.001},
    "check-ins": {"no-mask": 0.001, "sensitive-mask": 0.001, "pa-markov": 58, "pa-hmm": 180, "pa-hmm online": 0.001},
}
"""Table 5: D11 and D15, 50 people each; "less than 1 ms" is given as 1 ms."""

MARKOV = ("no-mask", "no-internal", "pa-markov", "adaptive-attributes")
HIDDEN = ("no-mask", "sensitive-mask", "pa-hmm", *PRINTED, "adaptive-events")
SHOWN_IN: dict[str, tuple[str, ...]] = {"4": MARKOV, "5": HIDDEN, "6": MARKOV, "7": HIDDEN}

SECRET: dict[SecretKind, str] = {
    "activity": "an activity",
    "time": "a time",
    "location": "a location",
    "all": "one of each",
    "one": "one of any",
}
SECRET_LOOK: dict[SecretKind, Look] = {
    "activity": Look(SECRET["activity"], BLUE, "o"),
    "time": Look(SECRET["time"], ORANGE, "^"),
    "location": Look(SECRET["location"], GREEN, "s"),
    "all": Look(SECRET["all"], INK, "D"),
}
TOPICS_LOOK = {
    4: Look("4 topics", SKY, "o"),
    6: Look("6 topics", BLUE, "^"),
    8: Look("8 topics", NAVY, "s"),
    10: Look("10 topics", ORANGE, "D"),
}
"""Lines of Figures 9 and 10; the topics are those of Figure 10."""


@dataclass(frozen=True)
class EventSetting:
    """How the experiments are run."""

    topics: int = 4
    window: int = 50
    sets: int = 3
    simulated_topics: int = 4
    sweeps: int = 2_000
    budget: int = BUDGET
    seed: int = 0


@dataclass(frozen=True)
class PublishedGroup:
    """A data set: its people, who judges, and what every system did."""

    data: EventData
    model: TopicModel
    people: Sequence[EventSubject]
    found: Sequence[dict[Cell, Publication]]

    @property
    def judge(self) -> str:
        """The model that judges."""
        if self.data == "simulated":
            return f"judged by the event HMM of {self.model.topics} topics that made the data"
        found = self.model.diagnostics
        doubt = "" if found is None or found.converged else f" (not converged, R-hat {found.r_hat:.2f})"
        return f"judged by the event HMM of {self.model.topics} topics{doubt}"

    def outcomes(self, kind: SecretKind, delta: float, name: str) -> list[Publication]:
        """Of each person; "one" is the kind of each person's own attribute where that was run."""
        return [
            outcomes.get((kind, delta, name)) or outcomes[(one.one, delta, name)]
            for one, outcomes in zip(self.people, self.found, strict=True)
        ]

    def rate(
        self, kind: SecretKind, delta: float, name: str, measure: Callable[[Publication], float | None]
    ) -> float | None:
        """The mean over people (Eq. 2), or None where it is not defined."""
        values = [value for one in self.outcomes(kind, delta, name) if (value := measure(one)) is not None]
        return mean(values) if values else None


def failed(one: Publication) -> float | None:
    """1 if PA-HMM's vector fails its own check."""
    return None if one.fails is None else float(one.fails)


def utility(one: Publication) -> float:
    """The share of attributes shown."""
    return one.utility


def exact(one: Publication) -> float:
    """The breach rate by Bayes."""
    return one.breach_rate


def reckoned(one: Publication) -> float | None:
    """The breach rate as the paper reckons."""
    return one.by_topics if one.by_chains is None else one.by_chains


def _row(group: PublishedGroup, kind: SecretKind, delta: float, name: str) -> dict[str, Value]:
    found = group.outcomes(kind, delta, name)
    return {
        "secret": SECRET[kind],
        "delta": delta,
        "system": label(name),
        "utility": group.rate(kind, delta, name, utility),
        "breach rate": group.rate(kind, delta, name, exact),
        "by chains": group.rate(kind, delta, name, lambda one: one.by_chains),
        "by topics": group.rate(kind, delta, name, lambda one: one.by_topics),
        "vectors that fail": group.rate(kind, delta, name, failed),
        "worst gain": max(one.worst_gain for one in found),
        "off model": sum(one.off_model for one in found),
    }


def _each(group: PublishedGroup, kinds: Sequence[SecretKind], deltas: Sequence[float], systems: Sequence[str]) -> Sheet:
    """A row a person, who is a number."""
    rows: list[dict[str, Value]] = []
    for kind in kinds:
        for delta in deltas:
            for name in systems:
                for one, found in zip(group.people, group.outcomes(kind, delta, name), strict=True):
                    rows.append(
                        {
                            "person": one.number,
                            "events": len(one.window),
                            "triples": len(one.events.contexts),
                            "secret": SECRET[kind],
                            "delta": delta,
                            "system": label(name),
                            "utility": found.utility,
                            "breach rate": found.breach_rate,
                            "by chains": found.by_chains,
                            "by topics": found.by_topics,
                            "worst gain": found.worst_gain,
                            "off model": found.off_model,
                        }
                    )
    return Sheet.of(rows)


MEASURED = (
    "breach rate: the paper's Eq. 2, the mean over people of the share of positions where some secret's gain, given "
    "the whole output, is over delta; by Bayes, with the model that judges",
    "vectors that fail: the share of PA-HMM's vectors that do not pass the check that they were searched by",
    "by chains, by topics: the same as the paper reckons it for PA-Markov (Eq. 14 to 16, 24) and for PA-HMM (Eq. 20 "
    "to 22)",
)


def _panel(
    title: str,
    group: PublishedGroup,
    kind: SecretKind,
    systems: Sequence[str],
    measure: Callable[[Publication], float | None],
    up: str,
) -> lines.Panel:
    found: dict[Look, tuple[float, ...]] = {}
    for name in systems:
        values = [group.rate(kind, delta, name, measure) for delta in DELTAS]
        if None not in values:
            found[system(name).look] = tuple(value for value in values if value is not None)
    return lines.Panel(title, "delta", DELTAS, found, up)


def _about(group: PublishedGroup, setting: EventSetting) -> str:
    own = "" if group.data == "simulated" else " over each person's own triples"
    return f"{len(group.people)} people, {setting.window} events each, {group.judge}{own}"


def table4(group: PublishedGroup, setting: EventSetting) -> Figure:
    """Breach rates and utilities on simulated data."""
    rows = []
    for place, delta in enumerate(DELTAS):
        for name in SYSTEMS:
            row = _row(group, "activity", delta, name)
            del row["secret"]
            paper = "pa-hmm" if name in PRINTED else name
            told: float | str | None = PAPER_BREACHES[paper][place] if paper in PAPER_BREACHES else None
            if name == "no-mask":
                told = f"{PAPER_NO_MASK['chains'][place]:g} / {PAPER_NO_MASK['topics'][place]:g}"
            row["paper's breach rate"] = told
            row["paper's utility"] = PAPER_UTILITY[paper][place] if paper in PAPER_UTILITY else None
            rows.append(row)
    title = "Table 4: simulated data, one activity is secret"
    note = f"{setting.sets} data sets: {_about(group, setting)}"
    reckonings: tuple[tuple[str, tuple[str, ...], Callable[[Publication], float | None]], ...] = (
        ("exact", SYSTEMS, exact),
        ("as the paper reckons, by chains", ("no-mask", "no-internal", "pa-markov"), lambda one: one.by_chains),
        (
            "as the paper reckons, by topics",
            ("no-mask", "sensitive-mask", "pa-hmm", *PRINTED),
            lambda one: one.by_topics,
        ),
    )
    panels = (
        tuple(_panel(how, group, "activity", systems, of, "breach rate") for how, systems, of in reckonings),
        (_panel("what is shown", group, "activity", SYSTEMS, utility, "utility"),),
    )
    people = _each(group, ("activity",), DELTAS, SYSTEMS)
    draw = partial(lines.grid, title, note, panels, legend=PROVEN)
    return Figure(
        "table4", title, note, Sheet.of(rows), people, (*MEASURED, "NoMask in the paper: by chains / by topics"), draw
    )


def breaches(which: Literal["4", "5", "6", "7"], group: PublishedGroup, setting: EventSetting) -> Figure:
    """Figures 4 to 7: breach rates over delta, for secrets of each attribute and of one."""
    systems = SHOWN_IN[which]
    kinds: tuple[SecretKind, ...] = ("all", "one")
    rows = [_row(group, kind, delta, name) for kind in kinds for delta in DELTAS for name in systems]
    side = "PA-Markov" if "pa-markov" in systems else "PA-HMM"
    title = f"Figure {which}: breach rates on {group.data}, {side} and its baselines"
    note = _about(group, setting)
    measure: Callable[[Publication], float | None] = (
        (lambda one: one.by_chains) if "pa-markov" in systems else (lambda one: one.by_topics)
    )
    panels = tuple(
        tuple(_panel(f"{how}: {SECRET[kind]}", group, kind, systems, of, "breach rate") for kind in kinds)
        for how, of in (("exact", exact), ("as the paper reckons", measure))
    )
    draw = partial(lines.grid, title, note, panels, legend=PROVEN)
    return Figure(f"figure{which}", title, note, Sheet.of(rows), _each(group, kinds, DELTAS, systems), MEASURED, draw)


def _both(groups: Sequence[PublishedGroup]) -> str:
    """Who is looked at and who judges, in a line that fits a chart."""
    parts = []
    for group in groups:
        found = group.model.diagnostics
        doubt = "" if found is None or found.converged else " (not converged)"
        parts.append(f"{group.data}: {len(group.people)} people, event HMM of {group.model.topics} topics{doubt}")
    return "judges: " + "; ".join(parts)


def figure8(groups: Sequence[PublishedGroup]) -> Figure:
    """What is published and what is withheld, of what is secret and of the rest."""
    rows: list[dict[str, Value]] = []
    bars = []
    shown_at = (
        ("pa-markov", 0.65),
        ("adaptive-attributes", 0.65),
        ("pa-hmm", 0.2),
        ("pa-hmm-topics", 0.2),
        ("pa-hmm-published", 0.2),
        ("adaptive-events", 0.2),
    )
    for group in groups:
        for name, delta in shown_at:
            found = group.outcomes("one", delta, name)
            shares = {fate: mean([one.fates[k] for one in found]) for k, fate in enumerate(FATES)}
            rows.append({"data": group.data, "system": label(name), "delta": delta, **shares})
            bars.append(bar_charts.Bar(f"{group.data}, {label(name)} {delta:g}", shares))
    title = "Figure 8: what is published and what is withheld"
    note = _both(groups)
    remarks = (
        "shares of the attributes for PA-Markov and Adaptive attributes, of the events for PA-HMM and Adaptive events: "
        "an event is secret if a value in it is; one secret a person, deltas as in the paper",
    )
    draw = partial(
        bar_charts.bars,
        title,
        note,
        tuple(bars),
        fates=bar_charts.PUBLISHED,
        across="share of the attributes, or of the events",
    )
    return Figure("figure8", title, note, Sheet.of(rows), NOBODY, remarks, draw)


def figure9(groups: Sequence[PublishedGroup]) -> Figure:
    """Utility over delta by what is secret: PA-Markov, and Adaptive with attributes."""
    kinds: tuple[SecretKind, ...] = ("activity", "time", "location", "all")
    title = "Figure 9: utility by what is secret, attribute by attribute"
    return _utilities("figure9", title, groups, ("pa-markov", "adaptive-attributes"), kinds)


def _utilities(
    figure: str, title: str, groups: Sequence[PublishedGroup], systems: Sequence[str], kinds: Sequence[SecretKind]
) -> Figure:
    rows: list[dict[str, Value]] = []
    panels = []
    for name in systems:
        beside = []
        for group in groups:
            drawn = {
                SECRET_LOOK[kind]: tuple(group.rate(kind, delta, name, utility) or 0.0 for delta in DELTAS)
                for kind in kinds
            }
            beside.append(lines.Panel(f"{label(name)}, {group.data}", "delta", DELTAS, drawn))
            rows += [
                {
                    "data": group.data,
                    "system": label(name),
                    "delta": delta,
                    **{look.label: ys[k] for look, ys in drawn.items()},
                }
                for k, delta in enumerate(DELTAS)
            ]
        panels.append(tuple(beside))
    note = _both(groups)
    draw = partial(lines.grid, title, note, tuple(panels), legend="what is secret")
    return Figure(figure, title, note, Sheet.of(rows), NOBODY, (), draw)


def figure10(groups: Sequence[PublishedGroup]) -> Figure:
    """Utility over delta by the number of topics: PA-HMM, and Adaptive with whole events."""
    title = "Figure 10: utility by the number of topics, whole events"
    systems = ("pa-hmm", *PRINTED, "adaptive-events")
    data = list(dict.fromkeys(group.data for group in groups))
    rows: list[dict[str, Value]] = []
    panels = []
    for name in systems:
        beside = []
        for of in data:
            own = {group.model.topics: group for group in groups if group.data == of}
            drawn = {
                TOPICS_LOOK[count]: tuple(group.rate("one", delta, name, utility) or 0.0 for delta in DELTAS)
                for count, group in own.items()
            }
            beside.append(lines.Panel(f"{label(name)}, {of}", "delta", DELTAS, drawn))
            for count, group in own.items():
                found = group.model.diagnostics
                for k, delta in enumerate(DELTAS):
                    rows.append(
                        {
                            "data": of,
                            "system": label(name),
                            "topics": count,
                            "R-hat": None if found is None else found.r_hat,
                            "delta": delta,
                            "utility": drawn[TOPICS_LOOK[count]][k],
                            "breach rate": group.rate("one", delta, name, exact),
                        }
                    )
        panels.append(tuple(beside))
    counts = {group.data: len(group.people) for group in groups}
    people = ", ".join(f"{name}: {count} people" for name, count in counts.items())
    note = f"{people}; one secret a person; each model judges what it publishes"
    draw = partial(lines.grid, title, note, tuple(panels), legend="hidden states")
    remarks = ("R-hat over 1.05: the sampler's chains ended in different places, and the best of them is the model",)
    return Figure("figure10", title, note, Sheet.of(rows), NOBODY, remarks, draw)


def table5(groups: Sequence[PublishedGroup]) -> Figure:
    """Seconds for all people: tables and searches before the first event, and publishing."""
    rows: list[dict[str, Value]] = []
    timings = []
    for group in groups:
        scale = 50 / len(group.people)
        for name in SYSTEMS:
            found = group.outcomes("all", 0.3, name)
            offline, online = sum(one.offline for one in found), sum(one.online for one in found)
            paper = PAPER_SECONDS[group.data].get("pa-hmm" if name in PRINTED else name)
            row: dict[str, Value] = {"data": group.data, "system": label(name)}
            row |= {"prepared, s": offline, "published, s": online, "of 50 people, s": scale * (offline + online)}
            rows.append({**row, "paper, s": paper})
            timings.append(marks.Timing(f"{group.data}, {label(name)}", scale * (offline + online), paper))
            if name in ("pa-hmm", *PRINTED):
                timings.append(
                    marks.Timing(
                        f"{group.data}, {label(name)} online",
                        scale * online,
                        PAPER_SECONDS[group.data]["pa-hmm online"],
                    )
                )
    title = "Table 5: running time for 50 people of 50 events"
    note = (
        "; ".join(f"{group.data}: {len(group.people)} people" for group in groups)
        + ", secrets of each attribute, delta 0.3"
    )
    remarks = (
        "published: with what every event tells an exact observer of every position; the paper's times are for its "
        "algorithms alone, on a machine it does not describe",
    )
    draw = partial(marks.timings, title, note, tuple(timings))
    return Figure("table5", title, note, Sheet.of(rows), NOBODY, remarks, draw)
