"""Whether a map takes ground from some of its places: against positions that are looked up on both maps."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.places import Circle, Place, Places, Polygon
from discreet.places.ground import covers, spreads, taken_from
from discreet.places.shapes import Shape

HERE = (48.1, 11.5)
METRE = 1 / 111_200  # of latitude, in degrees


def circle(north: float = 0.0, radius: float = 100.0, east: float = 0.0) -> Circle:
    return Circle(HERE[0] + north * METRE, HERE[1] + east * METRE / np.cos(np.radians(HERE[0])), radius)


def square(half: float, north: float = 0.0, east: float = 0.0) -> Polygon:
    corners = [(north + a * half, east + b * half) for a, b in ((-1, -1), (-1, 1), (1, 1), (1, -1))]
    stretch = METRE / np.cos(np.radians(HERE[0]))
    return Polygon((np.array([(HERE[0] + y * METRE, HERE[1] + x * stretch) for y, x in corners]),))


def clinic_and(shape: Circle | Polygon, *others: Place) -> Places:
    return Places([Place("clinic", shape), *others])


@pytest.mark.parametrize(
    ("outer", "inner", "holds"),
    [
        (circle(), circle(), True),
        (circle(radius=150), circle(north=49), True),
        (circle(radius=150), circle(north=52), False),
        (circle(radius=150), square(100), True),
        (circle(radius=139), square(100), False),
        (square(101), circle(), True),
        (square(99), circle(), False),
        (square(120, north=30), circle(), False),
        (square(120), square(100), True),
        (square(120, east=30), square(100), False),
        (square(100), square(100), True),
        (square(60), square(100), False),
    ],
)
def test_what_covers_what(outer: Circle | Polygon, inner: Circle | Polygon, holds: bool) -> None:
    assert covers(outer, inner) is holds


def test_a_polygon_with_one_corner_drawn_out_covers_what_it_was() -> None:
    before = square(100)
    (ring,) = before.rings
    out, back = ring.copy(), ring.copy()
    out[2] += 50 * METRE
    back[2] -= 50 * METRE
    assert covers(Polygon((out,)), before)
    assert not covers(Polygon((back,)), before)


def test_a_spike_into_a_polygon_takes_from_it_though_all_its_corners_stay() -> None:
    before = square(100)
    (ring,) = before.rings
    spiked = np.insert(ring, 1, [[HERE[0], HERE[1]]], axis=0)
    assert not covers(Polygon((spiked,)), before)


def test_the_same_corners_in_another_order_are_another_ground() -> None:
    """A notch that goes from one side to the other: no corner is in the other polygon, and no edges cross."""
    a, b, c, d, notch = (0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (1.0, 2.0)
    before = Polygon((np.array([a, b, c, d, notch]),))
    assert not covers(Polygon((np.array([a, b, notch, c, d]),)), before)
    assert covers(Polygon((np.array([c, d, notch, a, b]),)), before)
    assert covers(Polygon((np.array([a, b, (6.0, 2.0), c, d, notch]),)), before)


def test_a_place_spreads_where_no_place_was() -> None:
    before = clinic_and(circle(), Place("gym", circle(north=500)))
    assert spreads(before, clinic_and(circle(radius=90), Place("gym", circle(radius=50)))) is None
    assert spreads(before, clinic_and(circle(), Place("gym", circle(north=500, radius=110)))) == "gym"
    assert spreads(before, clinic_and(circle(), Place("shop", circle(north=900)))) == "shop"


def test_a_secret_place_may_grow_and_not_shrink_move_or_be_called_otherwise() -> None:
    before = clinic_and(circle())
    assert taken_from(before, clinic_and(circle(radius=200)), {"clinic"}) is None
    assert taken_from(before, clinic_and(circle(radius=90)), {"clinic"}) == ("clinic", None)
    assert taken_from(before, clinic_and(circle(north=30)), {"clinic"}) == ("clinic", None)
    assert taken_from(before, Places([Place("hospital", circle())]), {"clinic"}) == ("clinic", None)
    assert taken_from(before, Places([Place("hospital", circle())]), {"gym"}) is None


def test_what_is_drawn_within_a_secret_place_takes_from_it() -> None:
    before = clinic_and(circle())
    assert taken_from(before, clinic_and(circle(), Place("desk", circle(radius=10))), {"clinic"}) == ("clinic", "desk")
    around = Place("campus", circle(radius=500))
    assert taken_from(before, clinic_and(circle(), around), {"clinic"}) is None
    assert taken_from(before, clinic_and(circle(), Place("shop", circle(north=300, radius=50))), {"clinic"}) is None


def test_a_secret_place_that_grows_beyond_another_within_it_loses_that_ground() -> None:
    gym = Place("gym", circle(north=80, radius=150))
    before = clinic_and(circle(), gym)  # the clinic is smaller, and has what both hold
    assert taken_from(before, clinic_and(circle(radius=140), gym), {"clinic"}) is None
    assert taken_from(before, clinic_and(circle(radius=200), gym), {"clinic"}) == ("clinic", "gym")
    desk = Place("desk", circle(radius=10))
    held = clinic_and(circle(), desk)  # it had its ground before
    assert taken_from(held, clinic_and(circle(radius=200), desk), {"clinic"}) is None


@pytest.mark.slow("simulates people and all their places")
def test_random_maps_that_are_said_to_lose_nothing_lose_nothing() -> None:
    rng = np.random.default_rng(3)
    steps = np.linspace(-350, 350, 61)
    kept = 0
    for _ in range(300):
        before = _random_map(rng)
        shapes = list(before.places)
        k = int(rng.integers(len(shapes)))
        if rng.random() < 0.3:
            shapes.append(Place("new", _random_shape(rng)))
        else:
            grown = _grown(shapes[k].shape, rng) if rng.random() < 0.6 else _random_shape(rng)
            shapes[k] = Place(shapes[k].name, grown)
        after = Places(shapes)
        if taken_from(before, after, {"clinic"}) is not None:
            continue
        kept += 1
        stretch = METRE / np.cos(np.radians(HERE[0]))
        positions = np.array([(HERE[0] + y * METRE, HERE[1] + x * stretch) for y in steps for x in steps])
        was = [k >= 0 and before.places[k].name == "clinic" for k in before.at(positions).tolist()]
        now = [k >= 0 and after.places[k].name == "clinic" for k in after.at(positions).tolist()]
        assert not any(one and not other for one, other in zip(was, now, strict=True))
    assert 50 < kept < 290, "both answers are tried"


def _random_shape(rng: np.random.Generator) -> Circle | Polygon:
    north, east = rng.uniform(-150, 150, 2).tolist()
    size = float(rng.uniform(20, 150))
    return circle(north, size, east) if rng.random() < 0.5 else square(size, north, east)


def _random_map(rng: np.random.Generator) -> Places:
    names = ["clinic", "gym", "shop", "clinic"][: int(rng.integers(1, 5))]
    return Places([Place(name, _random_shape(rng)) for name in names])


def _grown(shape: Shape, rng: np.random.Generator) -> Circle | Polygon:
    times = float(rng.uniform(0.9, 1.6))
    if isinstance(shape, Circle):
        return Circle(shape.latitude, shape.longitude, shape.radius * times)
    (ring,) = shape.rings
    middle = ring.mean(axis=0)
    return Polygon((middle + (ring - middle) * times,))
