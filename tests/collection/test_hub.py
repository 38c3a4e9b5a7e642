from __future__ import annotations

import re

import httpx2
import huggingface_hub
import pytest
from filelock import FileLock
from hubs import REVISION, proxying, serving, sha256
from networks import means

from ital.collection import hub as hubs
from ital.collection import shelf
from ital.collection.hub import HubError, fetch

PICTURE, TEXT, WORDS = "onnx/vision_model.onnx", "onnx/text_model.onnx", "tokenizer.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    """A model in the layout of the real ones."""
    place = tmp_path_factory.mktemp("hub")
    small = means(place / "m.onnx", ("batch", 3, "height", "width"), outputs=("image_embeds",))
    return {PICTURE: small.read_bytes(), TEXT: bytes(range(256)) * 400, WORDS: b'{"version": "1"}'}


@pytest.fixture
def hub(files, tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(hubs, "WAITS", (0.0, 0.0))
    with serving(dict(files)) as serves:
        monkeypatch.setenv("HF_ENDPOINT", serves.address)
        huggingface_hub.close_session()
        yield serves
    huggingface_hub.close_session()


def entry(files: dict[str, bytes], verified: bool = True) -> shelf.Entry:
    """What the table has of a model in the precision fp32."""
    listed = {
        role: shelf.File(path, len(files[path]), sha256(files[path]) if verified else None)
        for role, path in (("picture", PICTURE), ("text", TEXT), ("tokenizer", WORDS))
    }
    about = ("someone/tiny", REVISION, "MIT", 3, 32, "clip", "image_embeds")
    return shelf.Entry("tiny", *about, {"fp32": listed})


def leftovers(model: shelf.Entry) -> list[str]:
    return sorted(one.name for one in model.folder.rglob("*") if one.is_file() and one.suffix)


def refused(model: shelf.Entry) -> str:
    """What is said when a model cannot be fetched, of which nothing but parts is here then."""
    with pytest.raises(HubError) as error:
        fetch(model, "fp32")
    assert not model.is_here("fp32")
    return str(error.value)


def test_files_are_fetched_once(hub, files):
    model, told = entry(files), []
    found = fetch(model, "fp32", lambda *progress: told.append(progress))
    assert [one.path.read_bytes() for one in found] == [files[PICTURE], files[TEXT], files[WORDS]]
    assert [one.unverified for one in found] == [None] * 3
    assert model.is_here("fp32")
    assert leftovers(model) == ["text_model.onnx", "tokenizer.json", "vision_model.onnx"]
    for path in files:
        steps = [done for name, done, total in told if name == path and total == len(files[path])]
        assert steps == sorted(steps)
        assert (steps[0], steps[-1]) == (0, len(files[path]))
    asked = len(hub.requests)
    assert fetch(model, "fp32") == []
    assert len(hub.requests) == asked


def test_nothing_else_is_asked_or_told(hub, files):
    fetch(entry(files), "fp32")
    places = {f"/someone/tiny/resolve/{REVISION}/{path}" for path in files}
    assert {one.path for one in hub.requests} - {
        "/storage/" + PICTURE,
        "/storage/" + TEXT,
    } == places
    for request in hub.requests:
        agent = request.headers["user-agent"]
        assert re.fullmatch(r"ital/[\w.]+; hf_hub/[\w.]+; python/[\w.]+", agent)
        assert "authorization" not in request.headers


def test_a_token_goes_to_the_hub_alone(hub, files, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(entry(files), "fp32")
    for request in hub.requests:
        own = not request.path.startswith("/storage/")
        assert (request.headers.get("authorization") == "Bearer hf_secret") == own


def test_a_cut_is_mended_at_once(hub, files):
    hub.cuts = [1000, 3000]
    model = entry(files)
    fetch(model, "fp32")
    assert (model.folder / TEXT).read_bytes() == files[TEXT]
    ranges = [one.headers.get("range") for one in hub.asked("/storage/onnx/text")]
    assert ranges[-1] is not None
    assert ranges[-1].startswith("bytes=")


def test_what_was_interrupted_goes_on(hub, files, monkeypatch):
    monkeypatch.setattr(hubs, "WAITS", ())
    hub.cuts = [len(files[PICTURE]), 40_000]
    model = entry(files)
    assert re.fullmatch(
        rf"{TEXT} of someone/tiny did not arrive whole from 127\.0\.0\.1:\d+ \(.+\)\. Run it again "
        r"to go on: what is here is kept",
        refused(model),
    )
    part = model.folder / f"{TEXT}.part"
    here = part.stat().st_size
    assert 0 < here <= 40_000
    hub.requests.clear()
    fetch(model, "fp32")
    assert [one.headers["range"] for one in hub.asked("/storage/")] == [f"bytes={here}-"]
    assert (model.folder / TEXT).read_bytes() == files[TEXT]
    assert not part.exists()


def test_whoever_knows_no_ranges_sends_all_again(hub, files):
    hub.ranges, hub.cuts = False, [len(files[PICTURE]), 40_000]
    model = entry(files)
    fetch(model, "fp32")
    assert (model.folder / TEXT).read_bytes() == files[TEXT]


def test_a_part_that_is_too_long_is_none(hub, files):
    model = entry(files)
    part = model.folder / f"{TEXT}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(len(files[TEXT]) + 1))
    fetch(model, "fp32")
    assert (model.folder / TEXT).read_bytes() == files[TEXT]


@pytest.mark.parametrize("path", [PICTURE, WORDS])
@pytest.mark.parametrize("verified", [True, False])
def test_a_wrong_checksum(hub, files, path, verified):
    wrong = bytes(len(files[path]))
    hub.sent[path] = wrong
    model = entry(files, verified)
    said = refused(model)
    assert re.match(
        rf"{path} arrived with the checksum [0-9a-f]+, which must be [0-9a-f]+, and was deleted\. "
        r"Fetch it again; if that does not help, 127\.0\.0\.1:\d+ or a proxy changes files",
        said,
    )
    assert f"{path}.part".rpartition("/")[2] not in leftovers(model)
    hub.sent.clear()
    fetch(model, "fp32")
    assert model.is_here("fp32")


def test_another_file_than_that_of_the_table(hub, files):
    model = entry(files)
    hub.files[PICTURE] = files[PICTURE][::-1]
    assert re.match(
        rf"127\.0\.0\.1:\d+ has another {PICTURE}: its checksum must be {sha256(files[PICTURE])}, "
        rf"and is {sha256(files[PICTURE][::-1])}\. Do not trust it, fetch it on another machine",
        refused(model),
    )
    hub.files[PICTURE] += b"more"
    assert "its size must be" in refused(model)
    assert hub.asked("/storage/") == []


def test_without_a_checksum_the_hub_is_believed_and_that_is_said(hub, files):
    found = fetch(entry(files, verified=False), "fp32")
    assert found[0].unverified == (
        f"{PICTURE} is what the hub says it is, by {sha256(files[PICTURE])}: no other checksum is "
        "known of it"
    )
    assert all(one.unverified for one in found)


def test_404(hub, files):
    del hub.files[TEXT]
    assert re.fullmatch(
        rf"127\.0\.0\.1:\d+ has no {TEXT} of someone/tiny at {REVISION} \(404\)\. If HF_ENDPOINT "
        r"names a mirror, try without; else it was removed: fetch it on another machine, and copy "
        r".+/tiny/0123456789ab from there",
        refused(entry(files)),
    )


@pytest.mark.parametrize("status", [401, 403])
def test_401_and_403(hub, files, status):
    hub.statuses = [status]
    assert re.match(
        rf"127\.0\.0\.1:\d+ refuses {PICTURE} of someone/tiny \({status}\)\. It should be there "
        r"for everyone: if HF_TOKEN is set, unset it, for it may be wrong or have expired; if "
        r"HF_ENDPOINT names a mirror that wants one, set it; else fetch it on another machine",
        refused(entry(files)),
    )
    assert len(hub.requests) == 1


def test_503_is_asked_again_and_then_told(hub, files):
    hub.statuses = [503, 429]
    fetch(entry(files), "fp32")
    tries = [one for one in hub.asked("/resolve/") if one.path.endswith(PICTURE)]
    assert [one.method for one in tries] == ["HEAD"] * 3 + ["GET"]


def test_503_for_good(hub, files):
    hub.statuses = [503] * 3
    assert re.fullmatch(
        rf"127\.0\.0\.1:\d+ answers 503 for {PICTURE} of someone/tiny, 3 times: it has too much to "
        r"do, or is broken\. Run it again later to go on: what is here is kept",
        refused(entry(files)),
    )
    assert len(hub.requests) == 3


def test_what_takes_too_long(hub, files, monkeypatch):
    monkeypatch.setattr(hubs, "_PATIENCE", 0.2)
    monkeypatch.setattr(hubs, "WAITS", ())
    hub.silent = True
    assert "did not arrive whole from 127.0.0.1" in refused(entry(files))


def test_offline_by_choice(hub, files, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert re.fullmatch(
        rf"HF_HUB_OFFLINE is set, and {PICTURE} of someone/tiny is not here: unset it, or fetch it "
        r"on another machine, and copy .+ from there",
        refused(entry(files)),
    )
    assert hub.requests == []


def test_a_hub_out_of_reach(hub, files, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    assert re.fullmatch(
        r"hub\.invalid cannot be reached \(.+\)\. If this machine is behind a proxy, set "
        r"HTTPS_PROXY; if the hub is blocked, set HF_ENDPOINT to a mirror; if it is offline, fetch "
        r"it on another machine, and copy .+ from there",
        refused(entry(files)),
    )


def test_a_mirror(hub, files, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.address + "/")
    assert len(fetch(entry(files), "fp32")) == 3


def test_what_is_no_mirror(hub, files):
    hub.plain = True
    assert re.match(
        r"127\.0\.0\.1:\d+ does not answer like a hub\. A proxy or the login page of a network may "
        r"be in between, or HF_ENDPOINT may name something else: fetch it on another machine",
        refused(entry(files)),
    )


def test_a_proxy(hub, files, monkeypatch):
    with proxying(hub.address) as (address, seen):
        monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")  # whom the proxy alone knows
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setattr(hub, "storage", "http://storage.invalid")
        assert len(fetch(entry(files), "fp32")) == 3
    assert {one.partition(".invalid")[0] for one in seen} == {"http://hub", "http://storage"}


def test_a_proxy_out_of_reach_is_named_without_its_password(hub, files, monkeypatch):
    with proxying(hub.address) as (address, _):
        closed = address.removeprefix("http://")
    monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@{closed}")
    said = refused(entry(files))
    assert f"cannot be reached through the proxy {closed} that HTTP_PROXY names (" in said
    assert "secret" not in said


def test_a_full_disk_is_seen_before(hub, files, monkeypatch):
    real = hubs.shutil.disk_usage
    monkeypatch.setattr(hubs.shutil, "disk_usage", lambda path: real(path)._replace(free=5))
    model = entry(files)
    assert re.fullmatch(
        rf"there is no room for {PICTURE} of someone/tiny: {model.folder} has 0\.0 MB left \(.+ MB "
        r"are needed\)\. Free some, or name a folder on another disk by XDG_CACHE_HOME, and run it "
        r"again to go on",
        refused(model),
    )
    assert hub.asked("/storage/") == []


def test_a_disk_that_fills_up(hub, files):
    model = entry(files)
    part = model.folder / f"{PICTURE}.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    said = refused(model)
    assert f"there is no room for {PICTURE} of someone/tiny" in said
    assert "No space left on device" in said


def test_one_process_at_a_time(hub, files):
    model = entry(files)
    model.folder.mkdir(parents=True)
    with FileLock(model.folder / ".lock"):
        assert refused(model) == "another process is fetching tiny: wait for it"


def test_another_trouble_with_files_is_told_as_it_is(hub, files):
    model = entry(files)
    (model.folder / "onnx").mkdir(parents=True)
    (model.folder / f"{PICTURE}.part").mkdir()
    with pytest.raises(IsADirectoryError):
        fetch(model, "fp32")


def test_the_client_is_the_real_one():
    assert isinstance(huggingface_hub.get_session(), httpx2.Client)
