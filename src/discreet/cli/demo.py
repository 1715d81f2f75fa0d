"""`discreet demo`: a day on which hiding only the secrets gives them away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.compiling import compile_now, does_without
from discreet.cli.terminal import busy, print_json
from discreet.errors import DiscreetError


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write the page: one file that needs no network.")
    ] = Path("out/demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed simulates another person.")] = 7,
    json: options.Json = False,
) -> None:
    """Show a simulated person's day and week: what applications saw, and what an observer concluded from it.

    Example: discreet demo --out out/demo.html
    """
    plain = does_without()
    with busy("simulating a person, learning their habits, releasing a day and a week"):
        from discreet.demo.page import page
        from discreet.demo.story import as_json, make_demo

        made = make_demo(seed)
    _write(out, page(made))
    if json:
        print_json({**as_json(made), "page": str(out)})
        return
    from discreet.cli.day_strip import print_demo

    print_demo(made)
    print(f"The page with the whole story: {out}")
    print("The same person live, as a gateway: discreet serve --demo", flush=True)
    if plain and sys.stderr.isatty():
        compile_now()


def _write(out: Path, text: str) -> None:
    from discreet.files import written_whole

    if out.is_dir():
        raise DiscreetError(f"{out}: is a folder; name the file, for example {out / 'demo.html'}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(
            f"{out.parent}: cannot be made: {error.strerror}; choose a folder you can write to"
        ) from None
    with written_whole(out) as file:
        file.write(text.encode())
