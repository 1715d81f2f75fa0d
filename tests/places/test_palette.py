"""Colours of places: told apart by everybody, never the red of an alarm, and kept with the place."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from discreet.places import Circle, Place, Places
from discreet.places.palette import PALETTE, colours_of, numbered

NOTICED = 0.02
"""What two patches in Oklab must differ by for most people to notice it side by side (Ottosson 2020)."""

SEEING = {
    "all": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Machado, Oliveira and Fernandes (2009), of severity 1, on linear light."""


def light(colour: str) -> np.ndarray:
    """The linear light of a colour."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(linear: np.ndarray) -> np.ndarray:
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.asarray(np.cbrt(np.clip(linear, 0, 1) @ cones.T) @ lab.T)


@pytest.mark.parametrize("seeing", SEEING)
def test_any_two_are_told_apart(seeing: str) -> None:
    seen = oklab(np.clip(np.array([light(one) for one in PALETTE]) @ SEEING[seeing].T, 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(len(PALETTE), 1)]
    assert apart.min() > 2 * NOTICED
    first = np.linalg.norm(seen[:8, None] - seen[None, :8], axis=2)[np.triu_indices(8, 1)]
    assert first.min() > 4 * NOTICED, "those with most time are told apart at a glance"


@pytest.mark.parametrize("colour", PALETTE)
def test_none_is_alarm_red_and_dark_letters_can_be_read_on_it(colour: str) -> None:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    assert 30 <= 360 * hue <= 330 or saturation < 0.2
    brightness = float(light(colour) @ [0.2126, 0.7152, 0.0722])
    letters = float(light("#10151c") @ [0.2126, 0.7152, 0.0722])
    assert (brightness + 0.05) / (letters + 0.05) >= 4.5


def test_a_number_is_that_of_the_place_and_never_changes() -> None:
    def at(name: str, number: int | None) -> Place:
        return Place(name, Circle(48.0, 11.0 + (number or 50) / 100, 50), number)

    places = Places([at("home", 1), at("clinic", 3), at("work", 2), at("clinic", 5), at("garden", None)])
    first = numbered(places, ["clinic", "home", "other", "unknown", "work"])
    assert first == {"home": 0, "clinic": 2, "work": 1, "garden": 3, "other": 4}
    without = Places([at("garden", None), at("pool", None), at("work", 2)])
    assert numbered(without, ["pool", "work"], first) == {**first, "pool": 5}, "what is gone is not given to another"
    assert colours_of(first)["home"] == PALETTE[0]
    assert len({*colours_of(first).values()}) == len(first)
    assert numbered(None, ["cafe", "home"]) == {"home": 0, "cafe": 1}
