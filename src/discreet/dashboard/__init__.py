"""The owner's page as it was built from /dashboard by `make dashboard`; `sources.sha256` says from which sources."""

from pathlib import Path

FOLDER = Path(__file__).parent

FILES = ("page.js", "page.css", "icon.svg", "manifest.webmanifest")
"""What the page asks for, beside itself."""
