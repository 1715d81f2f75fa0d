"""Passwords that are not taken: too short, too long, or among the first that anybody would try.

The list has the commonest words of leaked passwords. What they are usually made longer by is taken off first (capitals,
digits and signs around them, digits in the place of letters), so that a word stands for many passwords.
"""

from __future__ import annotations

import re

from discreet.errors import DiscreetError

SHORTEST = 10
LONGEST = 1000
"""Letters of a password."""

FEW = 4
"""Different letters that are too few."""

WORDS = """
password passwort passw letmein welcome iloveyou iloveu trustnoone administrator admin administration superman batman
starwars football baseball basketball princess sunshine charlie shadow dragon monkey master michael jordan jennifer
jessica ashley michelle samantha daniel thomas robert liverpool chelsea arsenal barcelona realmadrid manchester pokemon
minecraft fortnite computer internet whatever secret mysecret mypassword changeme default homeassistant homeassist
raspberry raspberrypi owntracks mosquitto discreet gateway owner ownerpassword qwerty qwertyuiop asdfghjkl asdfgh
zxcvbnm qazwsxedc qazwsx onetwothree abcdef abcdefgh abcdefghij hallo hallowelt helloworld hello motdepasse azerty
azertyuiop contrasena bonjour chocolat soleil schalke bayern ichliebedich familie schatz test testing guest user root
letme correcthorsebatterystaple jesuschrist jesus fuckyou fuckoff superstar butterfly cheese
"""

COMMONEST = frozenset(WORDS.split())

ROWS = (
    "1234567890",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "abcdefghijklmnopqrstuvwxyz",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb",
    "q1w2e3r4t5y6u7i8o9p0",
    "zaq12wsxcde34rfv",
)
"""Ways along a keyboard."""

AS_DIGITS = str.maketrans("013457@$!", "oleastasi")


def check(password: str) -> None:
    """Refuse a password that is no good, and say why."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise DiscreetError(f"the password has {len(password)} letters; give {SHORTEST} to {LONGEST}")
    if is_common(password):
        raise DiscreetError("this password is among the first that are tried; give several words, or a random one")


def is_common(password: str) -> bool:
    """Whether it is one of the commonest, or made from one in the usual way."""
    given = password.casefold()
    if len(set(given)) <= FEW or any(_runs(given, row) for row in ROWS):
        return True
    begun = re.sub(r"[\d\W_]+$", "", given)
    words = {_bare(one) for one in (given, given.translate(AS_DIGITS), begun.translate(AS_DIGITS))}
    return any(word in COMMONEST or _half(word) in COMMONEST for word in words)


def _bare(text: str) -> str:
    """The letters of it."""
    return re.sub(r"[\d\W_]+", "", text)


def _half(word: str) -> str:
    """What stands in it twice."""
    half = word[: len(word) // 2]
    return half if word == 2 * half else ""


def _runs(text: str, row: str) -> bool:
    """Whether it goes along a row, forwards or backwards, again and again."""
    return any(text in way * (len(text) // len(way) + 2) for way in (row, row[::-1]))
