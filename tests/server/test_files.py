"""Files as answers, from a server that listens."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest
from making import draw, swapping
from PIL import Image
from serving import API

from ital.collection.imports import import_embeddings

LARGE = 1 << 24
"""Bytes that no buffer on the way to a client holds at once."""


@pytest.fixture
def folder(tmp_path, few_indexed) -> Path:
    return few_indexed(tmp_path / "pictures", 2)


@pytest.fixture
def client(listen, folder):
    with (
        listen(folder) as (_, (host, port)),
        httpx.Client(base_url=f"http://{host}:{port}{API}") as one,
    ):
        yield one


@pytest.fixture
def pictures(client) -> str:
    """Where the pictures are."""
    (collection,) = client.get("/collections").json()
    return f"/collections/{collection['id']}/pictures"


@pytest.fixture
def archive(client) -> str:
    """Where both of them are in one file."""
    (collection,) = client.get("/collections").json()
    body = {"collection": collection["id"], "relevant": [1]}
    search = client.post("/searches", json=body).json()
    return f"/searches/{search['id']}/export?format=zip"


@pytest.mark.parametrize("what", ["1/view", "1/original"])
class TestParts:
    @pytest.mark.parametrize(
        ("asked", "part"),
        [
            ("bytes=0-0", slice(0, 1)),
            ("bytes=10-19", slice(10, 20)),
            ("bytes=100-", slice(100, None)),
            ("bytes=-7", slice(-7, None)),
            ("bytes=-999999", slice(0, None)),
            ("bytes=50-999999", slice(50, None)),
        ],
    )
    def test_some_bytes(self, client, pictures, folder, what, asked, part):
        whole = (folder / "0.png").read_bytes()
        response = client.get(f"{pictures}/{what}", headers={"Range": asked})
        assert response.status_code == 206
        assert response.content == whole[part]
        start, stop, _ = part.indices(len(whole))
        assert response.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(whole)}"

    @pytest.mark.parametrize("asked", ["bytes=999999-", "bytes=-0"])
    def test_bytes_that_there_are_not(self, client, pictures, folder, what, asked):
        response = client.get(f"{pictures}/{what}", headers={"Range": asked})
        assert response.status_code == 416
        size = (folder / "0.png").stat().st_size
        assert response.headers["content-range"] == f"bytes */{size}"

    @pytest.mark.parametrize(
        "asked", ["", "bytes=", "bytes=-", "bytes=9-3", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6"]
    )
    def test_what_makes_no_sense_is_left_aside(self, client, pictures, folder, what, asked):
        response = client.get(f"{pictures}/{what}", headers={"Range": asked})
        assert response.status_code == 200
        assert response.content == (folder / "0.png").read_bytes()

    def test_only_what_the_client_does_not_have(self, client, pictures, folder, what):
        whole = client.get(f"{pictures}/{what}")
        tag, modified = (whole.headers[name] for name in ("etag", "last-modified"))
        assert whole.headers["content-length"] == str((folder / "0.png").stat().st_size)
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = client.get(f"{pictures}/{what}", headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        for valid, status in ((tag, 206), (modified, 206), ('"other"', 200)):
            headers = {"Range": "bytes=0-3", "If-Range": valid}
            assert client.get(f"{pictures}/{what}", headers=headers).status_code == status
        draw(folder / "0.png", 7, (480, 320))
        changed = client.get(f"{pictures}/{what}", headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed.content == (folder / "0.png").read_bytes()

    def test_heads(self, client, pictures, folder, what):
        response = client.head(f"{pictures}/{what}")
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["content-length"] == str((folder / "0.png").stat().st_size)


class TestFilesThatChangeWhileTheyAreSent:
    @pytest.fixture
    def large(self, folder) -> Path:
        with (folder / "0.png").open("ab") as file:
            file.write(os.urandom(LARGE))
        return folder / "0.png"

    @pytest.mark.parametrize("headers", [{}, {"Range": "bytes=1-"}], ids=["all", "a part"])
    def test_shorter(self, client, pictures, large, headers, caplog):
        """The client knows that something is missing. Nobody else takes notice."""
        with client.stream("GET", f"{pictures}/1/original", headers=headers) as response:
            pieces = response.iter_raw(1000)
            next(pieces)
            os.truncate(large, 5000)
            with pytest.raises(httpx.RemoteProtocolError, match="closed connection"):
                list(pieces)
        assert client.get(f"{pictures}/1/original").content == large.read_bytes()
        assert "Traceback" not in caplog.text

    def test_longer(self, client, pictures, large, caplog):
        whole = large.read_bytes()
        with client.stream("GET", f"{pictures}/1/original") as response:
            pieces = response.iter_raw(1000)
            begun = next(pieces)
            with large.open("ab") as file:
                file.write(os.urandom(LARGE))
            assert begun + b"".join(pieces) == whole
        assert "Traceback" not in caplog.text

    def test_clients_that_leave(self, client, pictures, large, caplog):
        with client.stream("GET", f"{pictures}/1/original") as response:
            next(response.iter_raw(1000))
        assert client.get(f"{pictures}/2/view").status_code == 200
        assert "Traceback" not in caplog.text

    def test_shorter_in_an_archive(self, client, archive, large, caplog):
        with client.stream("GET", archive) as response:
            pieces = response.iter_raw(1000)
            begun = next(pieces)
            os.truncate(large, 5000)
            content = begun + b"".join(pieces)
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            assert opened.testzip() is None
            assert opened.namelist() == ["1-0.png", "2-1.png", "results.csv"]
            assert opened.read("2-1.png") == (large.parent / "1.png").read_bytes()
        assert "Traceback" not in caplog.text


class TestFilesThatAreSwapped:
    """With links to others, which are not for the world to see, at any moment."""

    def attempts(self, client, paths, count=120):
        found = set()
        for number in range(count):
            response = client.get(paths[number % len(paths)])
            assert response.status_code in (200, 404), response.text
            if response.status_code == 200:
                found.add(response.content)
        return found

    def test_files(self, client, pictures, folder, tmp_path, caplog):
        own = (folder / "0.png").read_bytes()
        with swapping(folder / "0.png", draw(tmp_path / "secret.png", 9)):
            paths = [f"{pictures}/1/{what}" for what in ("view", "original")]
            assert self.attempts(client, paths) == {own}
        assert "Traceback" not in caplog.text

    def test_thumbnails_and_pictures_that_are_converted(self, listen, tmp_path, caplog):
        colours = {"own": (255, 0, 0), "secret": (0, 0, 255)}
        (tmp_path / "in").mkdir()
        Image.new("RGB", (64, 64), colours["own"]).save(tmp_path / "in" / "a.tiff")
        Image.new("RGB", (64, 64), colours["secret"]).save(tmp_path / "secret.tiff")
        np.save(tmp_path / "vectors.npy", np.eye(1))
        paths = ["a.tiff"]
        import_embeddings(
            tmp_path / "vectors.npy", tmp_path / "in" / ".ital", paths, tmp_path / "in"
        )
        with (
            listen(tmp_path / "in") as (_, (host, port)),
            httpx.Client(base_url=f"http://{host}:{port}{API}") as client,
            swapping(tmp_path / "in" / "a.tiff", tmp_path / "secret.tiff"),
        ):
            (collection,) = client.get("/collections").json()
            url = f"/collections/{collection['id']}/pictures/1"
            found = self.attempts(client, [f"{url}/thumbnail", f"{url}/view"])
        assert found
        for content in found:
            with Image.open(io.BytesIO(content)) as image:
                assert image.convert("RGB").getpixel((9, 9))[0] > 200
        assert "Traceback" not in caplog.text

    def test_archives(self, client, archive, folder, tmp_path, caplog):
        own = (folder / "0.png").read_bytes()
        with swapping(folder / "0.png", draw(tmp_path / "secret.png", 9)):
            archives = self.attempts(client, [archive])
        for content in archives:
            with zipfile.ZipFile(io.BytesIO(content)) as opened:
                if "1-0.png" in opened.namelist():
                    assert opened.read("1-0.png") == own
                else:
                    assert opened.read("missing.txt") == b"0.png\n"
        assert "Traceback" not in caplog.text
