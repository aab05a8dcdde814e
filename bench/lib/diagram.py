"""A reliability diagram as a PNG, without a library for drawing: told runs across, right upwards."""

import itertools
import pathlib
import struct
import zlib

import numpy as np

SIDE, MARGIN = 480, 40
COLOURS = {"axis": (60, 60, 60), "ideal": (190, 190, 190)}
POINTS = ((31, 119, 180), (214, 39, 40), (44, 160, 44), (148, 103, 189))


def save_diagram(path: pathlib.Path, series: list[list[tuple[float, float]]], *, top: float) -> None:
    """Draw each series of (told, right), both from 0 to `top`, as dots joined by a line; the diagonal is the ideal."""
    image = np.full((SIDE + 2 * MARGIN, SIDE + 2 * MARGIN, 3), 255, np.uint8)
    line(image, (0, 0), (1, 1), COLOURS["ideal"])
    for tenth in range(11):
        line(image, (tenth / 10, 0), (tenth / 10, -0.02), COLOURS["axis"])
        line(image, (0, tenth / 10), (-0.02, tenth / 10), COLOURS["axis"])
    line(image, (0, 0), (1, 0), COLOURS["axis"])
    line(image, (0, 0), (0, 1), COLOURS["axis"])
    for colour, points in zip(POINTS, series, strict=False):
        places = [(told / top, right / top) for told, right in points]
        for one, other in itertools.pairwise(places):
            line(image, one, other, colour)
        for x, y in places:
            dot(image, x, y, colour)
    path.write_bytes(as_png(image))


def line(image, start, end, colour) -> None:
    for at in np.linspace(0, 1, 2 * SIDE):
        dot(image, start[0] + at * (end[0] - start[0]), start[1] + at * (end[1] - start[1]), colour, radius=0)


def dot(image, x: float, y: float, colour, radius: int = 4) -> None:
    column, row = MARGIN + round(x * SIDE), MARGIN + SIDE - round(y * SIDE)
    if not 0 <= row < len(image):
        return  # beyond the diagram
    image[max(0, row - radius) : row + radius + 1, max(0, column - radius) : column + radius + 1] = colour


def as_png(image: np.ndarray) -> bytes:
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
