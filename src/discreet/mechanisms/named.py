"""Mechanisms by name: a `Spec` says which one and with what options, and makes it for any model and policy.

A spec is data. It can be compared, hashed, pickled to another process, read from text or TOML, and written down beside
what it released.
"""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from discreet import mechanisms, plugins
from discreet.contracts import DayModel, Mechanism
from discreet.errors import DiscreetError, OneDayError, did_you_mean
from discreet.events import Events
from discreet.mechanisms.options import Options, OptionSite, Parameter, fitted, parameters
from discreet.policy import Policy

ENDING = ".toml"

MAPS = (".geojson", ".json")
"""How files of places end."""


def kebab(name: str) -> str:
    """MaskSensitive to mask-sensitive."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def names() -> dict[str, str]:
    """The mechanisms there are: the name on the command line, and that of the class. No mechanism is imported."""
    return {kebab(name): name for name in mechanisms.WHERE}


@dataclass(frozen=True, init=False)
class Spec:
    """A mechanism by name, with its options: `Spec("adaptive", {"outputs": "deceive"}).make(model, policy)`.

    The name is one of `names()`, in either spelling, that of a plug-in (`discreet.plugins`), or `module:Class` for a
    mechanism of your own. Options are plain
    values, fitted to the constructor's signature when the mechanism is made (docs/mechanisms.md says how hierarchies,
    graphs, queries and labels are written), or objects that have a hash.
    """

    name: str
    options: Options

    def __init__(self, name: str, options: Mapping[str, object] | None = None) -> None:
        object.__setattr__(self, "name", _known(name))
        object.__setattr__(self, "options", Options(options))

    @classmethod
    def from_text(cls, mechanism: str, options: Sequence[str] = ()) -> Spec:
        """From a name, `module:Class` or the path of a TOML file, and options as key=value, which add to the file's.

        A value is a number, `true`, `false` or a word; lists, tables and quoted text are written as in TOML. Where a
        hierarchy is asked for, a map of places (a GeoJSON file) will do.
        """
        spec = cls.read(mechanism) if mechanism.lower().endswith(ENDING) else cls(mechanism)
        given: dict[str, object] = {}
        for text in options:
            key, equals, value = text.partition("=")
            if not (key and equals):
                raise DiscreetError(f"option {text!r} is not of the form key=value, such as grid=10")
            if key in given:
                raise DiscreetError(f"option {key} is given twice; keep one")
            given[key] = value
        untyped = spec.with_options(**given)  # which options there are may depend on those given
        typed = {key: _value(value, untyped.parameter(key)) for key, value in given.items()}
        return spec.with_options(**typed).with_maps(Path()).checked()

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> Spec:
        """From a TOML table: `name`, and beside it the options."""
        return cls._of_table(table).checked()

    @classmethod
    def _of_table(cls, table: Mapping[str, object]) -> Spec:
        name = table.get("name")
        if not isinstance(name, str):
            raise DiscreetError(f"the mechanism's name is {name!r}; add, for example, name = 'adaptive'")
        return cls(name, {key: value for key, value in table.items() if key != "name"})

    @classmethod
    def read(cls, path: str | Path) -> Spec:
        """From a TOML file with one table, [mechanism]."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                content = tomllib.load(file)
        except OSError as error:
            raise DiscreetError(f"{path}: cannot be read: {error.strerror}; give the path of a TOML file") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DiscreetError(f"{path}: not a TOML file: {error}") from None
        table = content.pop("mechanism", None)
        if not isinstance(table, dict):
            raise DiscreetError(f"{path}: there is no table [mechanism]; add one with name = 'adaptive', for example")
        if content:
            raise DiscreetError(f"{path}: there is {next(iter(content))!r} beside [mechanism]; leave it out")
        try:
            return cls._of_table(table).with_maps(path.parent).checked()
        except DiscreetError as error:
            raise DiscreetError(f"{path}: {error}") from None

    def to_table(self) -> dict[str, Any]:
        """What `from_table` reads."""
        return {"name": self.name, **self.options.plain()}

    def with_options(self, **options: object) -> Spec:
        """The same mechanism with these options added or replaced."""
        return Spec(self.name, {**self.options, **options})

    def with_maps(self, folder: Path) -> Spec:
        """The same with trees for maps: a hierarchy may be named by a GeoJSON file of places, which it then holds."""
        known = self.parameters()
        trees = {
            key: _tree_of(folder / value)
            for key, value in self.options.items()
            if isinstance(value, str) and value.lower().endswith(MAPS) and key in known and known[key].is_tree
        }
        return self.with_options(**trees)

    @property
    def maker(self) -> Callable[..., Mechanism[Any]]:
        """The mechanism's class; it is imported now."""
        if ours := names().get(self.name):
            found: Callable[..., Mechanism[Any]] = getattr(mechanisms, ours)
            return found
        made = _imported(self.name) if ":" in self.name else plugins.loaded(plugins.MECHANISMS, self.name)
        return _checked(self.name, made)

    def parameters(self) -> Mapping[str, Parameter]:
        """The options that the constructor takes, with those of a mechanism inside it, to which it hands them on."""
        found, hands_on = parameters(self.maker)
        if hands_on and "mechanism" in found:
            inner = self.options.get("mechanism", found["mechanism"].default)
            if isinstance(inner, str):
                found = {**Spec(inner).parameters(), **found}
            elif callable(inner):
                found = {**parameters(inner)[0], **found}
        return found

    def parameter(self, option: str) -> Parameter:
        """One of them."""
        known = self.parameters()
        if option not in known:
            raise DiscreetError(
                f"{self.name} has no option {option!r}; {did_you_mean(option, known) if known else 'it has none'}"
            )
        return known[option]

    def checked(self) -> Spec:
        """The spec, if its options are known, complete and of the right kind; what needs a model is left to `make`."""
        self._fitted(None, {})
        return self

    def make(self, model: DayModel, policy: Policy | None, *, events: Events | None = None) -> Mechanism[Any]:
        """The mechanism for this model and policy; `events` where contexts are events, if it asks for them."""
        more = {} if events is None or "events" not in self.parameters() else {"events": events}
        options = {**self._fitted(model, more), **more}
        try:
            return _whole(self.name, self.maker(model, policy, **options))
        except DiscreetError:
            raise
        except Exception as error:
            if self.name not in names() and cast(Any, model).slots is None:
                # Its author had days in mind. It is made for each kind of day instead, or says there what is wrong.
                raise OneDayError(f"{self.name} takes no model without end: {error!r}") from error
            if not self.options or not isinstance(error, TypeError | ValueError | AttributeError | OverflowError):
                raise
            raise DiscreetError(f"{self.name} cannot use its options {self.options}: {error}") from error

    def _fitted(self, model: DayModel | None, more: Mapping[str, object]) -> dict[str, object]:
        place = OptionSite(model, self.options)
        options = {key: self.parameter(key) for key in self.options}
        for key, parameter in self.parameters().items():
            if parameter.required and key not in self.options and key not in more:
                raise DiscreetError(f"{self.name} needs the option {key}: {parameter.words}")
        try:
            return {key: fitted(key, one.hint, self.options[key], place) for key, one in options.items()}
        except DiscreetError as error:
            raise DiscreetError(f"{self.name}, {error}") from None

    def __str__(self) -> str:
        return ", ".join([self.name, *(f"{key}={value}" for key, value in self.options.plain().items())])


# --- somebody else's mechanism: module:Class, or a plug-in

METHODS = ("start", "kernel", "advance")
PARTS = ("model", "policy", "guarantee", "private_contexts", "remember", "worth")
"""What every mechanism has beside; `ContextMechanism` brings all but the guarantee."""


def _imported(name: str) -> object:
    """The class `module:Class`; an error that says what to change where there is none."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise DiscreetError(f"there is no mechanism {name!r}; one of your own is written module:Class")
    if "/" in module or "\\" in module or module.endswith(".py"):
        stem = re.split(r"[/\\]", module)[-1].removesuffix(".py")
        raise DiscreetError(f"{name!r} names a file; name the module, {stem}:{attribute}, and run from its folder")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise DiscreetError(
                f"there is no mechanism {name!r}: {error}; name a module that Python finds, and a class in it"
            ) from None
        raise DiscreetError(f"module {module!r} cannot be imported: {error}; install what it imports") from error
    except Exception as error:  # whatever is wrong in it is its author's to mend, and has a place there
        raise DiscreetError(f"module {module!r} cannot be imported: {error!r}; mend it, then try again") from error
    own = getattr(found, attribute, None)
    if own is None:
        classes = [key for key, value in vars(found).items() if isinstance(value, type)]
        hint = did_you_mean(attribute, classes) if classes else "it has no class at all"
        raise DiscreetError(f"there is no mechanism {name!r}: module {module!r} has no {attribute!r}; {hint}")
    return own


def _checked(name: str, own: object) -> Callable[..., Mechanism[Any]]:
    """The class, if it looks like a mechanism."""
    missing = [method for method in METHODS if not callable(getattr(own, method, None))]
    if missing or not callable(own):
        lacks = f"it lacks {', '.join(missing)}" if missing else "it is no class"
        raise DiscreetError(f"{name} is no mechanism: {lacks}; see docs/mechanisms.md")
    _require_signature(name, cast(Callable[..., object], own))
    return cast(Callable[..., Mechanism[Any]], own)


def _require_signature(name: str, own: Callable[..., object]) -> None:
    """A constructor is called with a model and a policy, in this order, and with options by name."""
    taken = list(inspect.signature(own).parameters.values())
    places = [one for one in taken if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(places) < 2 and not any(one.kind is one.VAR_POSITIONAL for one in taken):
        shown = ", ".join(map(str, taken))
        raise DiscreetError(f"{name} takes ({shown}); let it take (model, policy, *, options), see docs/mechanisms.md")


def _whole(name: str, made: Mechanism[Any]) -> Mechanism[Any]:
    """The mechanism, if it has all that others ask of it; those of the project are held to that by a type checker."""
    missing = [part for part in PARTS if name not in names() and not hasattr(made, part)]
    if missing:
        raise DiscreetError(
            f"{name} is no mechanism: it lacks {', '.join(missing)}; derive it from "
            "discreet.mechanisms.base.ContextMechanism, and give it a guarantee"
        )
    return made


def _known(name: str) -> str:
    """The name as `names()` spells it; what is not there is an error with all that is."""
    if ":" in name:
        return name
    if kebab(name) in names():
        return kebab(name)
    known = (*names(), *plugins.names(plugins.MECHANISMS))
    if name not in known:
        near = did_you_mean(kebab(name), known)
        hint = f"{near} " if near.startswith("did") else ""
        raise DiscreetError(f"there is no mechanism {name!r}; {hint}all: {', '.join(sorted(known))}")
    return name


def _tree_of(path: Path) -> dict[str, object]:
    """The nesting of a map's places."""
    from discreet.places import read_places

    places = read_places(path)
    try:
        return places.hierarchy().nested()
    except DiscreetError as error:
        raise DiscreetError(f"{path}: {error}") from None


def _value(text: object, parameter: Parameter) -> object:
    """The value of a text: TOML where it starts like a list, a table or a quotation, else a number or a word."""
    if not isinstance(text, str):
        return text
    if text[:1] in ("[", "{", '"', "'"):
        try:
            return tomllib.loads(f"value = {text}".replace("\n", " "))["value"]
        except tomllib.TOMLDecodeError as error:
            raise DiscreetError(f"{text!r} is not written as in TOML: {error}") from None
    if parameter.is_text:
        return text
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
