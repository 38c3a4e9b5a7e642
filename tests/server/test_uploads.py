"""Pictures from outside, and what they cost."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from making import bomb
from serving import API, Phoenix, web

from ital.server import ServerSettings


def memory(process: Phoenix, what: str) -> int:
    """Megabytes that a server holds, or held at its peak."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition(f"{what}:")[2].split()[0]) >> 10


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc")
def test_many_large_ones_take_no_more_than_one(indexed, tmp_path):
    """And what they take is given back."""
    picture = bomb(10_000, 10_000)  # which takes a hundred megabytes when it is decoded
    process = Phoenix(indexed, "--database", f"sqlite:///{tmp_path}/s.sqlite", "--no-index").start()
    collection = web.get(f"{process.url}{API}/collections").json()[0]["id"]
    url = f"{process.url}{API}/collections/{collection}/uploads"

    def upload(content: bytes) -> int:
        return web.post(url, content=content, timeout=300).status_code

    try:
        assert upload((indexed / "00.png").read_bytes()) == 201
        before = memory(process, "VmRSS")
        with ThreadPoolExecutor(4) as threads:  # twice the limit below, if they were all at once
            assert set(threads.map(upload, [picture] * 4)) == {201}
        peak, after = memory(process, "VmHWM"), memory(process, "VmRSS")
    finally:
        process.end()
    assert peak - before < 200
    assert after - before < 50


def test_a_limit_of_pixels(indexed, make_client):
    with make_client(indexed, upload_pixels=2_000_000) as client:
        (collection,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{collection['id']}/uploads"
        assert client.post(url, content=bomb(2000, 1000)).status_code == 201
        refused = client.post(url, content=bomb(2001, 1000))
        assert refused.status_code == 415
        assert "2001 x 1000 pixels, which is over 2 megapixels" in refused.json()["detail"]
    with pytest.raises(ValueError, match="upload_pixels"):
        ServerSettings(upload_pixels=10**12)


def test_those_that_are_too_large_for_memory_wait_on_the_disk(indexed, client, collection):
    """It makes no difference to what they are."""
    content = (indexed / "05.png").read_bytes() + bytes(3 << 20)
    url = f"{API}/collections/{collection}/uploads"
    upload = client.post(url, content=content).json()["id"]
    body = {"collection": collection, "uploads": [upload]}
    search = client.post(f"{API}/searches", json=body).json()["id"]
    (first,) = client.get(f"{API}/searches/{search}/results?limit=1").json()["results"]
    assert first["name"] == "05.png"
