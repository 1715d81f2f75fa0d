"""What descriptions of routes are made of: kinds of values, answers, who may call, and one operation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
DATE: Schema = {"type": "string", "format": "date"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
ANY: Schema = {}


def maybe(schema: Schema) -> Schema:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]} if isinstance(schema.get("type"), str) else schema


def listed(items: Schema, **more: Any) -> Schema:
    """A list."""
    return {"type": "array", "items": items, **more}


def keyed(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, **more: Any) -> Schema:
    """An object with these keys; in an answer there may be more."""
    return {"type": "object", "required": sorted(required), "properties": {**required, **(optional or {})}, **more}


def only(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these keys and no other, as a body has to be."""
    return keyed(required, optional, additionalProperties=False)


EVENT: Schema = keyed(
    {"person": TEXT, "date": DATE, "slot": WHOLE, "start": TEXT, "end": TEXT, "kind": TEXT},
    {"context": TEXT, "node": TEXT, "latitude": NUMBER, "longitude": NUMBER, "radius": WHOLE},
    description="One slot as this token's view shows it. kind is released, generalized, suppressed (nothing is said) "
    "or skipped (nothing was decided). A place has its public circle.",
)

ERROR = keyed({"error": TEXT})


def answer(words: str, schema: Schema | None = None, kind: str = "application/json") -> dict[str, Any]:
    """One answer, with what its body is."""
    return {"description": words} | ({} if schema is None else {"content": {kind: {"schema": schema}}})


def asked(name: str, words: str, schema: Schema, where: str = "query", *, required: bool = False) -> dict[str, Any]:
    """One parameter."""
    return {"name": name, "in": where, "required": required, "description": words, "schema": schema}


Who = Literal["anybody", "reader", "application", "source", "phone", "frontend", "owner", "in person"]
"""Who may call: `reader` is an application or the owner, `owner` a token of the owner's or the page, `in person` the
page after the password; a phone and the frontend of OwnTracks send a token as a password."""

SECURITY: Mapping[Who, list[dict[str, list[str]]]] = {
    "anybody": [],
    "reader": [{"token": []}, {"session": []}],
    "application": [{"token": []}],
    "source": [{"token": []}],
    "phone": [{"password": []}, {"token": []}],
    "frontend": [{"password": []}, {"token": []}],
    "owner": [{"token": []}, {"session": []}],
    "in person": [{"session": []}],
}

SCHEMES: dict[str, Any] = {
    "token": {"type": "http", "scheme": "bearer"},
    "password": {"type": "http", "scheme": "basic"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "discreet",
        "description": "Its name ends with the gateway's own: discreet-NAME, and over TLS __Host-discreet-NAME.",
    },
}

SERVER = {
    "400": answer("what is wrong, in words", ERROR),
    "408": answer("the body took too long", ERROR),
    "413": answer("the body is too large", ERROR),
    "421": answer("a name that is not served here", ERROR),
}
"""What the server itself answers on every route."""

CALLER = {
    "401": answer("no token, or an invalid one", ERROR),
    "403": answer("a token for something else", ERROR),
    "429": answer("too many requests; Retry-After says how long to wait", ERROR),
    "503": answer("the journal cannot be used; send again in a moment", ERROR),
}

MISSING = {"404": answer("nothing here for this token, whether or not there is such a person", ERROR)}

OWNTRACKS = {"401": answer("wrong credentials"), "503": answer("send again; Retry-After says how long to wait")}

REFUSALS: Mapping[Who, dict[str, Any]] = {
    "anybody": {},
    "reader": CALLER | MISSING,
    "application": CALLER,
    "source": CALLER | MISSING,
    "phone": OWNTRACKS,
    "frontend": OWNTRACKS | {"429": CALLER["429"]},
    "owner": CALLER,
    "in person": CALLER,
}

CSRF = "what /v1/owner says the session's csrf is; needed where the cookie is what is sent"


@dataclass(frozen=True)
class Operation:
    """One method of a route: what it does, who may call, its answers, and what is given."""

    summary: str
    who: Who
    answers: Mapping[str, dict[str, Any]]
    given: Sequence[dict[str, Any]] = ()
    body: Schema | None = None
    """Of a JSON body."""
    needed: bool = True
    """Whether the body has to be there."""
    kind: str = "application/json"
    also: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Refusals beyond those that everybody of this kind may get."""

    def document(self, path: str, method: str) -> dict[str, Any]:
        """As OpenAPI has it. Parts of the path are parameters by themselves."""
        parameters = [asked(name, _part(name), _kind(kind), "path", required=True) for name, kind in parts(path)]
        if method != "get" and self.who in ("owner", "in person"):
            parameters.append(asked("X-CSRF-Token", CSRF, TEXT, "header", required=self.who == "in person"))
        found: dict[str, Any] = {
            "summary": self.summary,
            "security": SECURITY[self.who],
            "parameters": [*parameters, *self.given],
            "responses": {**self.answers, **SERVER, **REFUSALS[self.who], **self.also},
        }
        if self.body is not None:
            found["requestBody"] = {"required": self.needed, "content": {self.kind: {"schema": self.body}}}
        return found


Routes = Mapping[str, Mapping[str, Operation]]
"""Operations by method, by path: as the routing table writes it, with kinds ({x:int}) where it has them."""


def parts(path: str) -> list[tuple[str, str]]:
    """The parts of a path that vary, each with its kind."""
    return [(name, kind or "str") for name, kind in re.findall(r"\{(\w+)(?::(\w+))?\}", path)]


def plain(path: str) -> str:
    """A path of the routing table as OpenAPI writes it."""
    return re.sub(r":\w+\}", "}", path)


def paths_of(*several: Routes) -> dict[str, Any]:
    """The paths of a document."""
    return {
        plain(path): {method: one.document(path, method) for method, one in methods.items()}
        for routes in several
        for path, methods in routes.items()
    }


def _part(name: str) -> str:
    return {"person": "whose", "token": "the token's name, as the list has it", "view": "the view's name"}.get(
        name, f"the {name}"
    )


def _kind(kind: str) -> Schema:
    return {"type": "integer", "minimum": 0} if kind == "int" else {**TEXT, "minLength": 1}
