"""What mkdocs does not do by itself for `make docs`: pages made from the program, and links that leave `docs`.

mkdocs calls `on_files` and `on_page_markdown` (see `hooks` in mkdocs.yml). The reference of the command, of the routes
and of the Python names is made from the program, so that it cannot be out of date. A link to a file outside `docs`
leads to a page with that file.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import changelog

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
"""A link within the repository; addresses of the web have a colon."""

MOVED = {"CONTRIBUTING.md": "project/contributing.md", "SECURITY.md": "project/security.md"}
"""Files outside docs that have a place of their own; others are below `files`."""

PICTURES = {".png", ".svg"}

LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".js": "javascript", ".service": "ini"}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    made = {
        "reference/command.md": command_page(),
        "reference/http.md": http_page(),
        "reference/python.md": python_page(),
        "project/changelog.md": changelog.whole(ROOT),
        **dict(pages_outside()),
    }
    made[SHIM] = (ROOT / "tools" / "iframe-worker.js").read_text(encoding="utf-8")
    for address, text in made.items():
        files.append(File.generated(config, address, content=text))
    return files


SHIM = "assets/javascripts/iframe-worker.js"
"""What the search needs where pages are opened from files. The theme would load it from another host."""

THEIRS = "https://unpkg.com/iframe-worker/shim"

LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'>\s]+)""")
"""What a browser would load from another host as soon as it shows a page."""


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let a page load nothing from other hosts."""
    return of_this_host(output, page.url)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for pages that the theme makes, such as the one for addresses that lead nowhere."""
    return of_this_host(output_content, template_name) if template_name.endswith(".html") else output_content


def of_this_host(html: str, address: str) -> str:
    """A page with the site's own copy of what its search needs; stops where it would load something else."""
    own = html.replace(THEIRS, posixpath.relpath(SHIM, posixpath.dirname(address) or "."))
    if found := LOADED.search(own):
        raise SystemExit(f"{address}: this page would load {found[1]}; put a copy beside the site")
    return own


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to files outside `docs` lead to their pages."""
    here = page.file.src_uri
    source = SOURCES.get(here, f"docs/{here}")
    return LINK.sub(lambda found: _relinked(found, source, here), markdown)


SOURCES: dict[str, str] = {"project/changelog.md": "CHANGELOG.md"}
"""The file in the repository that each page outside `docs` shows."""


def _relinked(found: re.Match[str], source: str, here: str) -> str:
    """The same link, to where the file is on the site; words alone where it is a folder."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["target"]))
    if path.startswith("docs/"):
        wanted = path.removeprefix("docs/")
    elif path in ("docs", "README.md"):
        wanted = "index.md"
    elif _page_of(path) in SOURCES:
        wanted = _page_of(path)
    elif (ROOT / path).is_dir():
        return found["words"]
    else:
        return found[0]  # mkdocs says that it leads nowhere
    address = posixpath.relpath(wanted, posixpath.dirname(here) or ".")
    return f"[{found['words']}]({address}{found['anchor'] or ''})"


def _page_of(path: str) -> str:
    """The page that shows a file outside docs."""
    return MOVED.get(path, f"files/{path}" if path.endswith(".md") else f"files/{path}.md")


def pages_outside() -> Iterator[tuple[str, str]]:
    """A page for each file outside `docs` that a page links to, and for those that these link to."""
    waiting = [*sorted(DOCS.glob("**/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
    seen = {path for path in waiting if path.is_relative_to(DOCS)}
    while waiting:
        path = waiting.pop()
        text = path.read_text(encoding="utf-8")
        if path not in seen and path.name != "CHANGELOG.md":
            name = path.relative_to(ROOT).as_posix()
            SOURCES[_page_of(name)] = name
            yield _page_of(name), text if path.suffix == ".md" else _shown(path, name, text)
        seen.add(path)
        if path.suffix == ".md":
            waiting += [linked for linked in _linked(path, text) if linked not in seen]


def _linked(path: Path, text: str) -> Iterator[Path]:
    """The files of the repository that a page links to."""
    for found in LINK.finditer(text):
        linked = Path(os.path.normpath(path.parent / found["target"]))
        if linked.is_file() and linked.is_relative_to(ROOT) and linked.suffix not in PICTURES:
            yield linked


def _shown(path: Path, name: str, text: str) -> str:
    """A file of code as a page."""
    fence = "````"
    return f"# {path.name}\n\n`{name}`\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def command_page() -> str:
    """Every verb with its help, arguments and options, as the program has them."""
    from discreet.cli import whole_command

    whole: Any = whole_command()
    lines = ["# Every verb and option", "", "Made from the program. [The command](../command.md) explains them.", ""]
    for name, verb in sorted(whole.commands.items()):
        lines += _verb(f"discreet {name}", verb, 2)
    return "\n".join(lines)


def _verb(name: str, verb: Any, depth: int) -> list[str]:
    """A verb, and the verbs that it has."""
    lines = [f"{'#' * depth} {name}", "", _plain(verb.help or ""), ""]
    for parameter in verb.params:
        if parameter.name == "help":
            continue
        names = f"`{_names(parameter)}`"
        default = parameter.default
        shown = (
            f" Default: `{default}`." if isinstance(default, int | float | str) and default not in ("", False) else ""
        )
        lines.append(f"- {names}: {_plain(getattr(parameter, 'help', None) or '')}{shown}")
    lines.append("")
    for inner, one in sorted(getattr(verb, "commands", {}).items()):
        lines += _verb(f"{name} {inner}", one, depth + 1)
    return lines


def _names(parameter: Any) -> str:
    """What is typed: the options of a flag, or the word for an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name).upper()
    return ", ".join((*parameter.opts, *parameter.secondary_opts))


def _plain(help_text: str) -> str:
    """Help as Markdown: what rich marks as optional, and angle brackets, are text."""
    return help_text.replace("\b", "").replace("<", "&lt;").strip()


def http_page() -> str:
    """Every route of the gateway, as its description has it."""
    from discreet.gateway.wires.openapi import DOCUMENT

    about = DOCUMENT["info"]["description"]
    lines = ["# HTTP", "", about, "", "For programs the gateway serves the same as `/openapi.json`.", ""]
    for path, methods in DOCUMENT["paths"].items():
        for method, one in methods.items():
            allowed = " or ".join(f"`{name}`" for option in one["security"] for name in option) or "nothing"
            lines += [f"## `{method.upper()} {path}`", "", f"{one['summary']}. It takes {allowed}.", ""]
            lines += [f"- `{given['name']}`: {given['description']}" for given in one["parameters"]]
            lines += ["", "| status | |", "|---|---|"]
            lines += [f"| {status} | {answer['description']} |" for status, answer in one["responses"].items()]
            lines.append("")
    return "\n".join(lines)


BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def example_of(name: str) -> tuple[str, str] | None:
    """A line of the pages' Python, which tests run, or of their words, that uses a public name; and its page."""
    use = re.compile(rf"\b(?:d|discreet)\.{name}\b")
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
    for found in ("\n".join(BLOCK.findall(text)) for text in pages.values()), pages.values():
        lines = [
            (line.strip(), path.name) for path, text in zip(pages, found, strict=True) for line in text.split("\n")
        ]
        used = [one for one in lines if use.search(one[0])]
        if used:
            return min(used, key=lambda one: (len(one[0]) < 12, len(one[0])))
    return None


def _example(name: str) -> list[str]:
    found = example_of(name)
    if found is None:
        return []
    line, page = found
    shown = f"```python\n{line}\n```" if "`" not in line else line
    return [f"Example, from [{page.removesuffix('.md')}](../{page}):", "", shown, ""]


def python_page() -> str:
    """Every public name, by mkdocstrings."""
    import discreet

    names = [name for name in discreet.__all__ if name not in ("data", "laws", "mechanisms")]
    lines = [
        "# Python",
        "",
        "Every public name of `import discreet as d`. [In Python](../python.md) shows their use.",
        "",
    ]
    for name in names:
        lines += [f"::: discreet.{name}\n", *_example(name)]
    lines += ["::: discreet.mechanisms\n"]
    return "\n".join(lines)
