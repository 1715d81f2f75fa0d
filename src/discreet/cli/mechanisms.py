"""`discreet mechanisms`: who may decide what is shown, and what each promises."""

from __future__ import annotations

from discreet.cli import options
from discreet.cli.terminal import print_json, table

WORDS = {
    "delta": "whatever is shown, nobody gains more than delta of belief in a secret",
    "epsilon": "likelihoods differ by e^epsilon at most; a belief may still rise",
    "window": "within a stated part of what is shown, and not beyond",
    "none": "nothing is promised; for comparison",
}
"""What the words of a promise mean, the strongest first."""


def mechanisms(json: options.Json = False) -> None:
    """List the mechanisms and what each promises, the strongest promise first.

    Options of a mechanism are given with --option key=value; docs/mechanisms.md lists them.

    Example: discreet mechanisms
    """
    from discreet import plugins
    from discreet.mechanisms import PROMISES
    from discreet.mechanisms.named import kebab

    kinds = list(WORDS)
    rows = [[kebab(name), *promise.split(": ", 1)] for name, promise in PROMISES.items()]
    rows.sort(key=lambda row: (kinds.index(row[1]), row[0] != options.DEFAULT, row[0]))
    if json:
        found = [
            {"name": name, "promise": kind, "of": of, "default": name == options.DEFAULT} for name, kind, of in rows
        ]
        print_json({"mechanisms": found, "plugins": list(plugins.names(plugins.MECHANISMS))})
        return
    rows[0][0] += " *"
    print(table(["mechanism", "promise", "of"], rows, left=3))
    print()
    for kind, meaning in WORDS.items():
        print(f"{kind:<8} {meaning}")
    if others := plugins.names(plugins.MECHANISMS):
        print(f"\nfrom other packages, with promises of their own: {', '.join(others)}")
    print("\n* the default; name another with --mechanism, your own as module:Class")
