from __future__ import annotations

import os

import numpy as np
import pytest

from ital.engine.messages import packed, receive, send


def test_messages_come_out_as_they_went_in():
    there, here = os.pipe()
    with os.fdopen(there, "rb") as reading, os.fdopen(here, "wb") as writing:
        for message in (None, {"a": np.arange(5), "b": [np.eye(3, order="F"), "text"]}, b"", 7):
            send(writing, packed(message))
            np.testing.assert_equal(receive(reading), message)
        send(writing, packed(np.zeros(3)))
        receive(reading)[:] = 1  # it is the reader's own
        send(writing, packed(lambda x: x + 1))
        assert receive(reading)(1) == 2


def test_the_other_side_ends():
    there, here = os.pipe()
    with os.fdopen(there, "rb") as reading:
        with os.fdopen(here, "wb") as writing:
            send(writing, packed(1))
            writing.write(b"\x80")
        assert receive(reading) == 1
        with pytest.raises(EOFError):
            receive(reading)
