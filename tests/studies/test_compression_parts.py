import numpy as np
import pytest
from studies.compression.parts import begun, exponent


def test_exponents_are_read_back():
    sizes = np.array([100, 300, 1000])
    assert exponent(sizes, 5 * sizes**-0.7) == pytest.approx(0.7)


def test_sentences_begin_with_a_capital_and_keep_names():
    assert begun("easy, ReLU") == "Easy, ReLU"
