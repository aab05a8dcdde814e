"""Vectors at the border: packed they keep their direction, and what is none is told."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.errors import EmbeddingFailed
from forgelore.text.values import check_vector, pack_vector, unpack_vector

SEEDS = st.integers(0, 2**32 - 1)
WIDTHS = st.integers(64, 768)


def direction(seed, width):
    return check_vector(np.random.default_rng(seed).normal(size=width).tolist(), width)


@given(seed=SEEDS, width=WIDTHS)
def test_a_packed_vector_keeps_its_direction_and_length(seed, width):
    vector = direction(seed, width)
    again = unpack_vector(pack_vector(vector))
    assert float(again @ vector) > 0.999
    assert math.isclose(float(np.linalg.norm(again)), 1.0, abs_tol=1e-5)


@given(seed=SEEDS, width=WIDTHS, share=st.floats(0, 1))
def test_the_cosine_of_packed_vectors_is_as_near_as_promised(seed, width, share):
    """`text/values` says: less than 0.005 from the true one."""
    one, other = direction(seed, width), direction(seed + 1, width)
    mixed = check_vector((share * one + (1 - share) * other).tolist(), width)
    packed = [unpack_vector(pack_vector(vector)) for vector in (one, mixed)]
    assert abs(float(packed[0] @ packed[1]) - float(one @ mixed)) < 0.005


@given(values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40))
def test_a_vector_that_is_taken_has_length_one(values):
    vector = check_vector(values, None)
    if isinstance(vector, str):
        assert math.hypot(*values) < 1e-11
    else:
        assert math.isclose(float(np.linalg.norm(vector.astype(np.float64))), 1.0, abs_tol=1e-5)


def test_a_packed_vector_takes_a_byte_per_dimension():
    assert len(pack_vector(direction(1, 384)).data) == 384


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([], "not a vector"),
        ([[1.0, 2.0]], "not a vector"),
        (["a"], "not a vector"),
        ([1.0, 2.0, 3.0], "3 dimensions instead of 2"),
        ([1.0, float("nan")], "NaN or infinity"),
        ([float("inf"), 0.0], "NaN or infinity"),
        ([0.0, 0.0], "nothing to embed"),
        (EmbeddingFailed("too long"), "too long"),
    ],
)
def test_what_is_no_vector_is_told(raw, why):
    assert why in check_vector(raw, 2)
