"""Reads a code module by module, by the standard (ISO/IEC 18004) and not as a camera does: a code with one wrong module
is an error, for its remainders by the roots of the generator are not zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

LEVELS = {1: "L", 0: "M"}
MIDDLES = {
    1: (), 2: (6, 18), 3: (6, 22), 4: (6, 26), 5: (6, 30), 6: (6, 34), 7: (6, 22, 38), 8: (6, 24, 42), 9: (6, 26, 46),
    10: (6, 28, 50), 11: (6, 30, 54), 12: (6, 32, 58), 13: (6, 34, 62), 14: (6, 26, 46, 66), 15: (6, 26, 48, 70),
    16: (6, 26, 50, 74), 17: (6, 30, 54, 78), 18: (6, 30, 56, 82), 19: (6, 30, 58, 86), 20: (6, 34, 62, 90),
}  # fmt: skip
"""Of alignment patterns: the table of annex E."""

CHECKS = {
    "L": {1: [(1, 26, 19)], 2: [(1, 44, 34)], 3: [(1, 70, 55)], 4: [(1, 100, 80)], 5: [(1, 134, 108)],
          6: [(2, 86, 68)], 7: [(2, 98, 78)], 8: [(2, 121, 97)], 9: [(2, 146, 116)], 10: [(2, 86, 68), (2, 87, 69)],
          11: [(4, 101, 81)], 12: [(2, 116, 92), (2, 117, 93)], 13: [(4, 133, 107)], 14: [(3, 145, 115), (1, 146, 116)],
          15: [(5, 109, 87), (1, 110, 88)], 16: [(5, 122, 98), (1, 123, 99)], 17: [(1, 135, 107), (5, 136, 108)],
          18: [(5, 150, 120), (1, 151, 121)], 19: [(3, 141, 113), (4, 142, 114)], 20: [(3, 135, 107), (5, 136, 108)]},
    "M": {1: [(1, 26, 16)], 2: [(1, 44, 28)], 3: [(1, 70, 44)], 4: [(2, 50, 32)], 5: [(2, 67, 43)], 6: [(4, 43, 27)],
          7: [(4, 49, 31)], 8: [(2, 60, 38), (2, 61, 39)], 9: [(3, 58, 36), (2, 59, 37)],
          10: [(4, 69, 43), (1, 70, 44)], 11: [(1, 80, 50), (4, 81, 51)], 12: [(6, 58, 36), (2, 59, 37)],
          13: [(8, 59, 37), (1, 60, 38)], 14: [(4, 64, 40), (5, 65, 41)], 15: [(5, 65, 41), (5, 66, 42)],
          16: [(7, 73, 45), (3, 74, 46)], 17: [(10, 74, 46), (1, 75, 47)], 18: [(9, 69, 43), (4, 70, 44)],
          19: [(3, 70, 44), (11, 71, 45)], 20: [(3, 67, 41), (13, 68, 42)]},
}  # fmt: skip
"""Table 9: how many blocks, of how many codewords, of which how many are data."""

MASKS: Sequence[Callable[[int, int], bool]] = (
    lambda i, j: (i + j) % 2 == 0,
    lambda i, j: i % 2 == 0,
    lambda i, j: j % 3 == 0,
    lambda i, j: (i + j) % 3 == 0,
    lambda i, j: (i // 2 + j // 3) % 2 == 0,
    lambda i, j: i * j % 2 + i * j % 3 == 0,
    lambda i, j: (i * j % 2 + i * j % 3) % 2 == 0,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2 == 0,
)


def read(code: Sequence[str]) -> tuple[str, str]:
    """The level and the text of a code given as rows of 0 and 1."""
    size = len(code)
    version = (size - 17) // 4
    dark = [[letter == "1" for letter in row] for row in code]
    level, mask = _format(dark)
    bits = [dark[i][j] ^ MASKS[mask](i, j) for i, j in _order(size) if not _is_pattern(i, j, size, version)]
    words = [sum(bit << (7 - k) for k, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits) - 7, 8)]
    data = _joined(words, CHECKS[level][version])
    stream = "".join(f"{word:08b}" for word in data)
    wide = 8 if version < 10 else 16
    assert stream[:4] == "0100", "the mode is that of bytes"
    count = int(stream[4 : 4 + wide], 2)
    text = bytes(int(stream[at : at + 8], 2) for at in range(4 + wide, 4 + wide + 8 * count, 8))
    return level, text.decode()


def _format(dark: list[list[bool]]) -> tuple[str, int]:
    """Both copies are the same, and one of the 32 words that there are."""
    size = len(dark)
    first = [dark[8][j] for j in (0, 1, 2, 3, 4, 5, 7, 8)] + [dark[i][8] for i in (7, 5, 4, 3, 2, 1, 0)]
    second = [dark[size - 1 - k][8] for k in range(7)] + [dark[8][size - 8 + k] for k in range(8)]
    assert first == second
    assert dark[size - 8][8], "the module that is always dark"
    word = int("".join(str(int(bit)) for bit in first), 2) ^ 0b101010000010010
    left = word
    for k in range(4, -1, -1):
        if left >> (k + 10) & 1:
            left ^= 0b10100110111 << k
    assert left == 0, "the format's remainder"
    return LEVELS[word >> 13], word >> 10 & 7


def _order(size: int) -> list[tuple[int, int]]:
    columns = [*range(size - 1, 6, -2), *range(5, 0, -2)]
    rows = range(size)
    return [
        (i, right - side)
        for number, right in enumerate(columns)
        for i in (rows if number % 2 else reversed(rows))
        for side in (0, 1)
    ]


def _is_pattern(i: int, j: int, size: int, version: int) -> bool:
    if 6 in (i, j) or (i < 9 and (j < 9 or j >= size - 8)) or (i >= size - 8 and j < 9):
        return True
    if version > 6 and ((i < 6 and j >= size - 11) or (j < 6 and i >= size - 11)):
        return True
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    middles = [(a, b) for a in MIDDLES[version] for b in MIDDLES[version] if (a, b) not in corners]
    return any(abs(i - a) <= 2 and abs(j - b) <= 2 for a, b in middles)


def _joined(words: list[int], checks: list[tuple[int, int, int]]) -> list[int]:
    """The data of all blocks, each of which is a multiple of the generator."""
    sizes = [(whole, data) for count, whole, data in checks for _ in range(count)]
    blocks: list[list[int]] = [[] for _ in sizes]
    left = iter(words)
    for k in range(max(data for _, data in sizes)):
        for block, (_, data) in zip(blocks, sizes, strict=True):
            if k < data:
                block.append(next(left))
    for _ in range(sizes[0][0] - sizes[0][1]):
        for block in blocks:
            block.append(next(left))
    for block, (whole, data) in zip(blocks, sizes, strict=True):
        root = 1
        for _ in range(whole - data):
            value = 0
            for word in block:
                value = _times(value, root) ^ word
            assert value == 0, "a block's remainder"
            root = _times(root, 2)
    return [word for block, (_, data) in zip(blocks, sizes, strict=True) for word in block[:data]]


def _times(a: int, b: int) -> int:
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product
