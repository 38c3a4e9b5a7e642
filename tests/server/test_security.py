"""Who may come in, and what they may do."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from making import bomb, draw
from PIL import Image

from ital.collection import index
from ital.collection.imports import import_embeddings
from ital.server import Server, ServerSettings, create_app
from ital.server.database import Database, sqlite_url
from ital.server.security import Guesses
from ital.server.served import Served

API = "/api/v1"


@pytest.fixture
def visit(indexed, tmp_path):
    """A client for a server of some settings."""
    clients = []

    def make(base_url="http://localhost", folder=indexed, **settings):
        database = Database(sqlite_url(tmp_path / "searches.sqlite"))
        server = Server(ServerSettings(**settings), [Served(folder)], database)
        client = TestClient(create_app(server), base_url=base_url)
        clients.append(client)
        client.__enter__()
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.168.0.7:8000", 421),
        ("", 421),
        ("[::1", 421),
    ],
)
def test_only_our_own_names(visit, host, status):
    assert visit().get(f"{API}/collections", headers={"Host": host}).status_code == status


def test_other_names_if_they_were_given(visit):
    client = visit(allowed_hosts=("pictures.example",))
    assert client.get("/healthz", headers={"Host": "pictures.example"}).status_code == 200
    assert client.get("/healthz", headers={"Host": "other.example"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
        {"Origin": "file://"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_pages_are_refused(visit, headers):
    client = visit()
    assert client.get(f"{API}/searches", headers=headers).status_code == 403
    assert client.post(f"{API}/searches", headers=headers, json={}).status_code == 403
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.get(f"{API}/searches", headers=own).status_code == 200


class TestToken:
    @pytest.fixture
    def client(self, visit):
        return visit("http://192.168.0.7:8000", host="0.0.0.0", token="the-secret")

    def test_strangers_are_refused(self, client, monkeypatch):
        monkeypatch.setattr("ital.server.security._LONGEST", 0)
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic the-secret"},
            {"Cookie": "ital_token_8000=wrong"},
            {"Cookie": 'ital_token_8000="'},
            {"Cookie": "ital_token_8001=the-secret"},
        ):
            for path in ("/", f"{API}/collections", "/metrics", f"{API}/openapi.json"):
                response = client.get(path, headers=headers)
                assert response.status_code == 401
                assert "link that was printed" in response.json()["detail"]
        assert client.get("/?token=wrong").status_code == 401
        assert client.get(f"{API}/collections?token=the-secret").status_code == 401
        assert client.get("/healthz").status_code == 200

    def test_those_who_know_it_come_in(self, client):
        bearer = {"Authorization": "Bearer the-secret"}
        assert client.get(f"{API}/collections", headers=bearer).status_code == 200
        link = client.get("/?token=the-secret", follow_redirects=False)
        assert link.status_code == 303
        assert link.headers["location"] == "/"
        cookie = link.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert client.get(f"{API}/collections").status_code == 200

    @pytest.mark.parametrize("other", ['a={"x":1}', "path=/x", "a=b c", "=", "ä=1"])
    def test_beside_cookies_of_others(self, client, other):
        """Browsers send those of all servers on a machine."""
        cookies = {"Cookie": f"{other}; ital_token_8000=the-secret; z=1".encode()}
        assert client.get(f"{API}/collections", headers=cookies).status_code == 200

    def test_wrong_ones_wait_and_right_ones_do_not(self, listen, monkeypatch):
        with listen(token="the-secret") as (_, (host, port)), ThreadPoolExecutor() as threads:

            def get(token):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                return httpx.get(
                    f"http://{host}:{port}{API}/collections", headers=headers, timeout=60
                ).status_code

            for number in range(4):
                assert get(f"guess-{number}") == 401
            for name in ("_SHORTEST", "_LONGEST"):  # so that the others surely come before it
                monkeypatch.setattr(f"ital.server.security.{name}", 8.0)
            guess = threads.submit(get, "one-more")
            # As long as that is waited for, others come and go.
            assert get("the-secret") == 200
            assert get("") == 401
            assert not guess.done()
            assert guess.result() == 401

    def test_the_more_wrong_ones_the_longer_the_wait(self):
        guesses = Guesses()
        waits = [guesses.delay(("192.168.0.9", port)) for port in range(40)]
        assert waits == sorted(waits)
        assert waits[0] < waits[3] < waits[-1] == waits[-2]
        assert guesses.delay(("192.168.0.8", 1)) == waits[0]
        assert guesses.delay(("192.168.0.9", 1)) == waits[-1]
        # Whoever has one address of IPv6 has many.
        six = [guesses.delay((f"2001:db8::{number:x}", 1)) for number in range(40)]
        assert six == waits
        mapped = [guesses.delay((f"::ffff:10.0.0.{number}", 1)) for number in range(2)]
        assert mapped == waits[:1] * 2
        assert guesses.delay(None) == waits[0]

    def test_nor_can_many_addresses_fill_the_memory(self):
        guesses = Guesses()
        for number in range(5000):
            guesses.delay((f"10.0.{number // 250}.{number % 250}", 1))
        assert len(guesses) <= 1024

    def test_one_is_made_up_where_it_is_needed(self):
        assert ServerSettings().token is None
        assert ServerSettings(host="localhost").token is None
        assert ServerSettings(host="::1").token is None
        for host in ("0.0.0.0", "::", "192.168.0.7", "pictures.example"):
            made = [ServerSettings(host=host).token for _ in range(2)]
            assert all(one is not None and len(one.get_secret_value()) > 20 for one in made)
            assert made[0].get_secret_value() != made[1].get_secret_value()
            assert made[0].get_secret_value() not in repr(made[0])

    def test_it_may_be_asked_for_on_this_machine_too(self, visit):
        assert visit(token="the-secret").get(f"{API}/collections").status_code == 401


def test_nothing_is_loaded_from_elsewhere(visit):
    client = visit()
    for path in ("/healthz", f"{API}/collections", f"{API}/none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        f"{API}/collections/..%2f..%2fetc/pictures/1/original",
        f"{API}/collections/%00/pictures",
        f"{API}/searches/..%2f..%2fetc%2fpasswd",
        f"{API}/searches/%00",
    ],
)
def test_no_path_is_taken_from_a_request(visit, path):
    response = visit().get(path)
    assert response.status_code in (404, 422)
    assert "root:" not in response.text


class TestUploads:
    def test_too_many_bytes(self, visit):
        client = visit(upload_bytes=1000)
        (one,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{one['id']}/uploads"
        assert client.post(url, content=bytes(1001)).status_code == 413
        assert client.post(url, content=bytes(999)).status_code == 415

    def test_too_many_pixels(self, visit):
        client = visit()
        (one,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{one['id']}/uploads"
        response = client.post(url, content=bomb(60_000, 60_000))
        assert response.status_code == 415
        assert "megapixels" in response.json()["detail"]

    def test_pictures_that_are_something_else(self, visit):
        client = visit()
        (one,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{one['id']}/uploads"
        svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
        for content in (svg, b"<html></html>", b"%!PS-Adobe", b"GIF89a" + bytes(100)):
            assert client.post(url, content=content).status_code == 415


def test_scripts_in_names_stay_text(tmp_path, visit):
    folder = tmp_path / "pictures"
    name = '<img src=x onerror=alert(1)>"\n.png'
    draw(folder / name, 0)
    draw(folder / "b.png", 1)
    page = io.BytesIO()
    Image.new("RGB", (9, 9)).save(page, "PNG")
    (folder / "page.html").write_bytes(page.getvalue())  # a picture, whatever it is called
    index(folder)
    client = visit(folder=folder)
    (one,) = client.get(f"{API}/collections").json()
    url = f"{API}/collections/{one['id']}/pictures"
    listed = client.get(url)
    assert listed.headers["content-type"] == "application/json"
    pictures = {found["name"]: found["id"] for found in listed.json()["pictures"]}
    assert name in pictures
    shown = client.get(f"{url}/{pictures['page.html']}/view")
    assert shown.headers["content-type"] == "image/png"
    kept = client.get(f"{url}/{pictures[name]}/original")
    assert "\n" not in kept.headers["content-disposition"]
    assert kept.headers["content-type"] == "application/octet-stream"
    body = {"collection": one["id"], "relevant": [pictures[name]]}
    search = client.post(f"{API}/searches", json=body).json()["id"]
    export = client.get(f"{API}/searches/{search}/export", params={"format": "paths"})
    # It is left out of a list of lines, and whoever asks for one can see that.
    assert export.status_code == 200
    assert len(export.text.splitlines()) == len(pictures) - 1
    assert export.headers["left-out"] == "1"
    assert "-without-1.txt" in export.headers["content-disposition"]
    export = client.get(f"{API}/searches/{search}/export", params={"format": "paths0"})
    assert "left-out" not in export.headers
    assert export.headers["content-type"] == "application/octet-stream"
    assert str(folder / name) in export.text.split("\0")


@pytest.mark.parametrize("token", ["short", "a+b&c-and-more", "with space in it", "日本" * 4])
def test_tokens_that_no_link_could_carry(token):
    with pytest.raises(ValueError, match="token") as failed:
        ServerSettings(token=token)
    assert token not in str(failed.value)


def test_an_empty_token_is_none(monkeypatch):
    monkeypatch.setenv("ITAL_TOKEN", "")
    assert ServerSettings().token is None
    made = ServerSettings(host="0.0.0.0").token
    assert made is not None
    assert len(made.get_secret_value()) > 20


def test_bodies_are_limited(visit, search_body):
    client = visit()
    large = client.post(f"{API}/searches", json={"collection": "x" * (1 << 20)})
    assert large.status_code == 413
    chunked = client.post(f"{API}/searches", content=iter([b"{}"]))
    assert chunked.status_code == 411
    long = client.post(f"{API}/searches", json={**search_body, "collection": "x" * 100})
    assert long.status_code == 422
    assert len(long.text) < 300


@pytest.fixture
def search_body():
    return {"collection": "none", "relevant": [1]}


def test_an_origin_that_is_none(visit):
    response = visit().get(f"{API}/collections", headers={"Origin": "http://[::1"})
    assert response.status_code == 403


def test_heads(visit):
    client = visit()
    assert client.head(f"{API}/collections").status_code == 200
    assert client.head(f"{API}/collections/none").status_code == 404
    # Not a stream without end, of which nothing would be sent.
    for stream in ("collections/none/events", "searches/none/export"):
        refused = client.head(f"{API}/{stream}")
        assert refused.status_code == 405
        assert refused.headers["allow"] == "GET"


def test_what_cannot_be_done_to_something_that_is_there(visit):
    """It is not taken for a part of the page that is missing."""
    client = visit()
    for path, allowed in ((f"{API}/collections", "GET"), (f"{API}/searches/x/undo", "POST")):
        refused = client.delete(path)
        assert refused.status_code == 405
        assert refused.headers["allow"] == allowed
    assert client.get(f"{API}/none").json() == {"detail": "Not Found"}
    assert client.get(f"{API}/collections/", follow_redirects=False).status_code == 404


class TestFilesThatTookTheirPlace:
    """Whoever can write to the folder cannot have the server read others."""

    @pytest.fixture
    def client(self, visit, tmp_path):
        draw(tmp_path / "pictures" / "a.png", 0)
        index(tmp_path / "pictures")
        return visit(folder=tmp_path / "pictures")

    def statuses(self, client):
        (one,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{one['id']}/pictures/1"
        return [client.get(f"{url}/{what}").status_code for what in ("original", "view")]

    def test_a_link_out_of_the_folder(self, client, tmp_path):
        assert self.statuses(client) == [200, 200]
        (tmp_path / "secret.png").write_bytes((tmp_path / "pictures" / "a.png").read_bytes())
        (tmp_path / "pictures" / "a.png").unlink()
        (tmp_path / "pictures" / "a.png").symlink_to(tmp_path / "secret.png")
        assert self.statuses(client) == [404, 404]
        (one,) = client.get(f"{API}/collections").json()
        body = {"collection": one["id"], "relevant": [1]}
        search = client.post(f"{API}/searches", json=body).json()["id"]
        archive = client.get(f"{API}/searches/{search}/export", params={"format": "zip"})
        with zipfile.ZipFile(io.BytesIO(archive.content)) as opened:
            assert sorted(opened.namelist()) == ["missing.txt", "results.csv"]
            assert opened.read("missing.txt") == b"a.png\n"

    def test_a_circle_of_links(self, client, tmp_path):
        (tmp_path / "pictures" / "a.png").unlink()
        (tmp_path / "pictures" / "a.png").symlink_to(tmp_path / "pictures" / "b.png")
        (tmp_path / "pictures" / "b.png").symlink_to(tmp_path / "pictures" / "a.png")
        assert self.statuses(client) == [404, 404]

    def test_thumbnails_of_imported_collections(self, visit, tmp_path):
        """They keep none: each is made of the file."""
        folder = tmp_path / "elsewhere"
        draw(folder / "a.png", 0)
        draw(folder / "b.png", 1)
        np.save(tmp_path / "vectors.npy", np.eye(2))
        names = ["a.png", "b.png"]
        import_embeddings(tmp_path / "vectors.npy", folder / ".ital", names, folder)
        client = visit(folder=folder)
        (one,) = client.get(f"{API}/collections").json()
        url = f"{API}/collections/{one['id']}"
        assert client.get(f"{url}/pictures/1/thumbnail").status_code == 200
        draw(tmp_path / "secret.png", 2)
        (folder / "b.png").unlink()
        (folder / "b.png").symlink_to(tmp_path / "secret.png")
        assert client.get(f"{url}/pictures/2/thumbnail").status_code == 404
        upload = client.post(f"{url}/uploads", content=b"x")
        assert upload.status_code == 400
        assert "described elsewhere" in upload.json()["detail"]

    def test_a_bomb(self, client, tmp_path):
        (tmp_path / "pictures" / "a.png").write_bytes(bomb(40000, 40000))
        assert self.statuses(client)[1] == 404


def test_failures_tell_no_secrets(visit, monkeypatch):
    client = visit()
    client.__exit__(None, None, None)
    quiet = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)

    def fail(*arguments):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr("ital.server.searches.Searches.all", fail)
    response = quiet.get(f"{API}/searches")
    assert response.status_code == 500
    assert "42" not in response.text
    assert "Traceback" not in response.text
    assert response.headers["x-frame-options"] == "DENY"
    client.__enter__()
