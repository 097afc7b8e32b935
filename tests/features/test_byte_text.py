"""Bytes become text and come back, whatever they are."""

from hypothesis import example, given
from hypothesis import strategies as st

from proxqn.features.byte_text import bytes_of, text_of


@given(st.binary(max_size=20))
@example("é\U0010ffc3x".encode())
@example(b"\xf4\x8f\xbf")
def test_bytes_come_back(raw):
    text = text_of(raw)
    assert bytes_of(text) == raw
    assert text.encode().decode() == text  # so that it may be a feature's name


@given(st.text(max_size=20, alphabet=st.characters(exclude_categories=["Cs", "Co", "Cn"])))
def test_what_is_text_stays_it(text):
    assert text_of(text.encode()) == text
