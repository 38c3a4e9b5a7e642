from __future__ import annotations

import pytest
import ray

from ital.engine.connection import connect, connection, processors


def test_ends_with_whoever_made_it(cluster):
    with connection(cluster.address):
        assert processors() == 20
        with connection("auto"):
            assert ray.is_initialized()
        assert ray.is_initialized(), "it was there before"
    assert not ray.is_initialized()


def test_a_cluster_that_cannot_be_reached():
    with pytest.raises(ValueError, match=r"ray must be 'local', or the address .*'127.0.0.1:9'"):
        connect("127.0.0.1:9")
