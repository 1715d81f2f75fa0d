"""Who is calling, and whether they may: one place for every route, so that all refuse alike.

Somebody without a grant for a person is told the same whether there is such a person or not.
"""

from __future__ import annotations

import base64
import hmac
import math
from collections.abc import Collection, Mapping
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet.contexts import UNKNOWN
from discreet.gateway.auth.login import Owner, OwnerSession
from discreet.gateway.auth.tokens import Access, Grant, Purpose
from discreet.gateway.config.sections import Rates
from discreet.gateway.config.views import WHOLE, View
from discreet.gateway.forms import Forms
from discreet.gateway.rate_limits import OWNER, RateLimit
from discreet.gateway.slots.person import PersonConfig
from discreet.places.named import Places

READS = ("GET", "HEAD")

UNKNOWN_CALLER = "give a token that holds: Authorization: Bearer ..."
NOT_FOUND = "there is nothing here for this token"


class Authorization:
    """Tokens, sessions, limits, and what each caller is shown."""

    def __init__(
        self,
        access: Access,
        owner: Owner,
        people: Mapping[str, PersonConfig],
        views: Mapping[str, View],
        rates: Rates | None = None,
        instance: str = "",
    ) -> None:
        """`instance` is in the cookie's name: browsers send cookies to every port of a host."""
        rates = rates or Rates()
        self.access, self.owner = access, owner
        self._cookie = f"discreet-{instance}" if instance else "discreet"
        self._people = dict(people)
        self.views: Mapping[str, View] = {WHOLE: View(), **views}
        self._forms: dict[tuple[str, str], Forms] = {}
        self._limits: Mapping[Purpose, RateLimit] = {
            "application": RateLimit(rates.application),
            "source": RateLimit(rates.source),
            "owner": RateLimit(OWNER),
        }

    @property
    def people(self) -> Mapping[str, PersonConfig]:
        """Everybody who is served, as they are configured now."""
        return self._people

    def redraw(self, person: str, places: Places) -> None:
        """Another map is in force: whatever is read from now on has its circles."""
        self._people[person] = replace(self._people[person], places=places)
        self._forms = {key: forms for key, forms in self._forms.items() if key[0] != person}

    def show(self, name: str, view: View | None) -> None:
        """Another view under that name, or none: whatever is read from now on is as it shows it."""
        others = {one: known for one, known in self.views.items() if one != name}
        self.views = others if view is None else {**others, name: view}
        self._forms = {key: forms for key, forms in self._forms.items() if key[1] != name}

    def admit(self, config: PersonConfig) -> None:
        """One more person is served."""
        self._people[config.name] = config

    def caller(self, request: Request) -> Grant:
        """The grant that a request brings: by a token, or by the owner's cookie."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme:
            grant = self.access.grant(secret.strip()) if scheme.lower() == "bearer" else None
        else:
            session = self.session(request)
            grant = None if session is None else session.grant
            if session is not None and request.method not in READS:
                check_write(request, session)
        if grant is None:
            raise HTTPException(401, UNKNOWN_CALLER, {"WWW-Authenticate": "Bearer"})
        self._let_through(grant)
        return grant

    def phone(self, request: Request) -> tuple[Grant, float] | None:
        """A source that may speak Basic, and the seconds that it has to wait; None for wrong credentials."""
        grant = self._by_token(request, "source")
        return None if grant is None else (grant, self._limits[grant.purpose].wait(grant.token))

    def frontend(self, request: Request) -> tuple[Grant, Forms] | None:
        """An application that may speak Basic, and its forms; None for wrong credentials."""
        grant = self._by_token(request, "application")
        if grant is None or grant.view not in self.views:
            return None
        self._let_through(grant)
        return grant, self.forms_of(str(grant.person), grant.view)

    def _by_token(self, request: Request, purpose: Purpose) -> Grant | None:
        """Where phones and the OwnTracks frontend come, Basic is taken as well; nowhere else, because browsers send it
        along with what other sites' pages ask for."""
        secret = secret_of(request.headers.get("authorization", ""))
        grant = self.access.grant(secret) if secret else None
        return grant if grant is not None and grant.purpose == purpose and grant.person in self.people else None

    def _let_through(self, grant: Grant) -> None:
        if wait := self._limits[grant.purpose].wait(grant.token):
            raise HTTPException(429, "too many requests of this token", {"Retry-After": str(math.ceil(wait))})

    def charge(self, grant: Grant, calls: float) -> None:
        """What a request cost besides itself."""
        self._limits[grant.purpose].charge(grant.token, calls)

    def session(self, request: Request) -> OwnerSession | None:
        """The owner's session, if the request has its cookie."""
        cookie = request.cookies.get(self.cookie_of(request))
        return None if cookie is None else self.owner.session(cookie)

    def cookie_of(self, request: Request) -> str:
        """The cookie's name; over TLS, also a proxy's, one that browsers send over TLS alone, and for the whole host
        unless a proxy serves other things beside the gateway."""
        if not is_secure(request):
            return self._cookie
        return f"__Host-{self._cookie}" if cookie_path(request) == "/" else f"__Secure-{self._cookie}"

    def reader(self, request: Request) -> tuple[Grant, Forms]:
        """Who may read this person, and in which forms."""
        grant, person = self._of_person(request)
        if grant.purpose == "source":
            raise HTTPException(403, "this token writes; reading needs one of an application")
        if grant.view not in self.views:
            raise HTTPException(403, "this token's view is not in discreet.toml any more")
        return grant, self.forms_of(person, grant.view)

    def reading(self, request: Request) -> tuple[Grant, Forms]:
        """An application by its token, which says whom it reads."""
        grant = self.caller(request)
        if grant.purpose != "application" or grant.person not in self.people or grant.view not in self.views:
            raise HTTPException(403, "this is for an application's token, of a person and a view that are served")
        return grant, self.forms_of(str(grant.person), grant.view)

    def forms_of(self, person: str, view: str) -> Forms:
        """What leaves of a person in a view, as map and view are now."""
        key = (person, view)
        if key not in self._forms:
            config = self.people[person]
            self._forms[key] = Forms(person, config.clock, config.places, self.views[view])
        return self._forms[key]

    def writer(self, request: Request) -> tuple[Grant, str]:
        """Who may write this person's readings."""
        grant, person = self._of_person(request)
        if grant.purpose != "source":
            raise HTTPException(403, "this token reads; writing needs one of a source")
        return grant, person

    def owning(self, request: Request) -> Grant:
        """The owner, and nobody else."""
        grant = self.caller(request)
        if grant.purpose != "owner":
            raise HTTPException(403, "this is the owner's")
        return grant

    def administering(self, request: Request) -> Grant:
        """Who administers the gateway, and no person's account."""
        grant = self.owning(request)
        if grant.person is not None:
            raise HTTPException(403, "this is for who administers the gateway")
        return grant

    def is_owner(self, request: Request) -> bool:
        """Whether it is who administers the gateway who asks, where anybody may."""
        try:
            grant = self.caller(request)
        except HTTPException:
            return False
        return grant.purpose == "owner" and grant.person is None

    def reach(self, grant: Grant) -> list[str]:
        """Whom an owner sees to: an account its own person, the owner's password everybody who has no account."""
        hidden = self._hidden_from(grant)
        return sorted(person for person in self.people if person not in hidden and grant.person in (None, person))

    def reaches(self, grant: Grant, person: str | None) -> bool:
        """Whether this person, served or not, is an owner's to see to; what is nobody's is who administers'."""
        if grant.person not in (None, person):
            return False
        return person is None or person not in self._hidden_from(grant)

    def _hidden_from(self, grant: Grant) -> Collection[str]:
        accounts = self.access.accounts
        return accounts.closed() if grant.person is None else accounts.owed()

    def may_read(self, grant: Grant, person: str) -> bool:
        """Whether what was told of a person is for this grant; asked again while a stream is open."""
        return self.reaches(grant, person) if grant.purpose == "owner" else grant.person == person

    def views_for(self, grant: Grant) -> Mapping[str, View]:
        """The views that an owner may give: to an account, those that name no place that is somebody else's."""
        if grant.person is None or grant.person not in self.people:
            return self.views
        own = {*self.people[grant.person].routine.contexts, UNKNOWN}
        return {
            name: view
            for name, view in self.views.items()
            if view.groups is None or all(inside <= own for inside in view.groups.values())
        }

    def in_person(self, request: Request, why: str = "this shows what was true") -> Grant:
        """The owner in person, or an account, by password and not by a token.

        A token reads what was released; what was true is for who can be asked for the password.
        """
        grant = self.owning(request)
        session = self.session(request)
        if session is None or session.grant != grant:
            raise HTTPException(403, f"{why}; log in with the owner's password")
        return grant

    def administering_in_person(self, request: Request) -> Grant:
        """Who administers the gateway, by password and not by a token."""
        self.administering(request)
        return self.in_person(request)

    def present(self, request: Request) -> str:
        """The owner in person, or an account, and the person whom the path names, who is theirs to see to.

        Of anybody else it is not said whether there is such a person.
        """
        grant = self.in_person(request)
        person = str(request.path_params["person"])
        if person not in self.people or not self.reaches(grant, person):
            raise HTTPException(404, "there is no such person")
        return person

    def _of_person(self, request: Request) -> tuple[Grant, str]:
        grant = self.caller(request)
        person = str(request.path_params["person"])
        if person not in self.people or not self.may_read(grant, person):
            raise HTTPException(404, NOT_FOUND)
        return grant, person


def cookie_path(request: Request) -> str:
    """Where browsers send the cookie: what a proxy serves beside the gateway's prefix does not see it."""
    return str(request.scope.get("root_path", "")) or "/"


def is_secure(request: Request) -> bool:
    """Whether the request came over TLS."""
    return request.url.scheme == "https"


def check_write(request: Request, session: OwnerSession) -> None:
    """A write by cookie needs the session's own word and comes from the gateway's own page."""
    check_origin(request)
    given = request.headers.get("x-csrf-token", "")
    if not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise HTTPException(403, "send the session's csrf as X-CSRF-Token")


def check_origin(request: Request) -> None:
    """Refuse what a browser says comes from another site's page."""
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{request.headers.get('host', '')}":
        raise HTTPException(403, "this comes from another site's page")


# --- credentials of a request: a token as Bearer, or as the password of Basic, which phones and browsers send


LONGEST = 1024
"""Characters of a header; a token has 43."""


def secret_of(header: str) -> str | None:
    """The token in an Authorization header; Basic's user name tells nothing."""
    scheme, _, value = header.strip().partition(" ")
    if len(header) > LONGEST:
        return None
    match scheme.lower():
        case "bearer":
            return value.strip() or None
        case "basic":
            try:
                return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2] or None
            except ValueError:
                return None
    return None


def refused() -> Response:
    """Wrong credentials, or none. A browser asks for them."""
    return Response(status_code=401, headers={"WWW-Authenticate": 'Basic realm="discreet"'})
