"""polars as `pl`, imported when something of it is first used.

Modules that a gateway loads at its start take it from here: polars is 181 MB on disk and 50 MB in memory, and a gateway
needs it only for a history that is brought to the page, or habits that are learned again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> object:
            try:
                import polars
            except ImportError:
                raise DiscreetError("tables need polars, which is not installed: pip install polars") from None
            return getattr(polars, name)

    pl = _Polars()

__all__ = ["pl"]
