"""Models from the Hugging Face hub: fetched, resumed, verified, and there as a whole or not at all.

Nothing is fetched but by `fetch`. The client of the hub knows its addresses, tokens and proxies
(`HF_ENDPOINT`, `HF_TOKEN`, `HTTPS_PROXY`, `HF_HUB_OFFLINE`); what it tells of this machine and of
other libraries is switched off. A file arrives beside its place, under a name that ends in .part,
from where the next run goes on; it is moved when its checksum is right.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from filelock import FileLock, Timeout
from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.file_download import HfFileMetadata
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from ital import __version__
from ital.collection.shelf import Entry, File

T = TypeVar("T")

WAITS: tuple[float, ...] = (1.0, 4.0, 15.0)
"""Seconds before what failed is tried again, each time that it fails without a byte in between."""

_PATIENCE = 30.0
"""Seconds in which something has to arrive."""

_PASSING = (408, 429, 500, 502, 503, 504)
"""Answers of a hub that has too much to do."""

Report = Callable[[str, int, int | None], None]
"""Called with the path of a file, how many bytes of it are here, and how many there are."""


class HubError(RuntimeError):
    """A model that cannot be fetched; the message says what to do."""


@dataclass(frozen=True)
class Fetched:
    """A file that is here now."""

    path: Path
    unverified: str | None
    """What is to be said of it, where the table has no checksum."""


def fetch(
    entry: Entry, precision: str, report: Report = lambda path, done, total: None
) -> list[Fetched]:
    """Fetch what is not here yet of a model in a precision."""
    constants.HF_HUB_DISABLE_TELEMETRY = True
    entry.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(entry.folder / ".lock", timeout=0):
            files = entry.precisions[precision].values()
            return [_fetch(entry, file, report) for file in files if not _here(entry, file)]
    except Timeout:
        raise HubError(f"another process is fetching {entry.name}: wait for it") from None


def _here(entry: Entry, file: File) -> bool:
    return (entry.folder / file.path).is_file()


def _fetch(entry: Entry, file: File, report: Report) -> Fetched:
    place = entry.folder / file.path
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.part")
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    url = hf_hub_url(entry.repository, file.path, revision=entry.revision, endpoint=endpoint)
    with _in_words(entry, file, url):
        said = _retried(lambda: _asked(url), lambda: 0)
        _compare(entry, file, said, url)
        _retried(
            lambda: _receive(url, part, said.size, lambda n: report(file.path, n, said.size)),
            lambda: part.stat().st_size if part.exists() else 0,
        )
        unverified = _verify(file, part, said.etag or "", url)
        part.replace(place)
    return Fetched(place, unverified)


def _asked(url: str) -> HfFileMetadata:
    """What the hub says of a file."""
    return get_hf_file_metadata(
        url, timeout=_PATIENCE, library_name="ital", library_version=__version__
    )


def _compare(entry: Entry, file: File, said: HfFileMetadata, url: str) -> None:
    """Whether it is the file that the table has."""
    if said.commit_hash is None or said.etag is None:
        raise HubError(
            f"{_host(url)} does not answer like a hub. A proxy or the login page of a network may "
            f"be in between, or HF_ENDPOINT may name something else: {_elsewhere(entry)}"
        )
    wanted = {"revision": entry.revision, "size": file.size, "checksum": file.sha256}
    found = {"revision": said.commit_hash, "size": said.size, "checksum": said.etag}
    if not re.fullmatch("[0-9a-f]{64}", said.etag):  # of a small file, the hub tells another one
        del wanted["checksum"]
    for what, value in wanted.items():
        if None not in (value, found[what]) and value != found[what]:
            raise HubError(
                f"{_host(url)} has another {file.path}: its {what} must be {value}, and is "
                f"{found[what]}. Do not trust it, {_elsewhere(entry)}"
            )


def _receive(url: str, part: Path, size: int | None, report: Callable[[int], None]) -> None:
    """Add to a file what it lacks."""
    with part.open("ab") as file:
        have = file.tell()
        if size is not None and have > size:
            have = file.truncate(0)
        if size is not None:
            _make_sure_of_room(part, size - have)
        report(have)
        if have == size:
            return
        headers = build_hf_headers(library_name="ital", library_version=__version__)
        headers |= {"Range": f"bytes={have}-"} if have else {}
        with get_session().stream("GET", url, headers=headers, timeout=_PATIENCE) as response:
            hf_raise_for_status(response)
            if have and response.status_code != 206:
                have = file.truncate(0)  # whoever answers knows no parts
            for piece in response.iter_bytes():
                file.write(piece)
                have += len(piece)
                report(have)
        if size is not None and have < size:
            raise httpx2.RemoteProtocolError(f"{have} of {size} bytes arrived")


def _retried(do: Callable[[], T], done: Callable[[], int]) -> T:
    """Do something again that fails for a while, as often as there are ``WAITS``.

    They begin anew whenever more is ``done`` than before. A hub that was never reached is not
    asked again: this machine is offline, or the hub is blocked.
    """
    before, waits = done(), iter(WAITS)
    while True:
        try:
            return do()
        except (httpx2.TransportError, HfHubHTTPError) as error:
            status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
            unreached = isinstance(error, httpx2.ConnectError | httpx2.ProxyError) and not done()
            if unreached or (status is not None and status not in _PASSING):
                raise
            if done() > before:
                before, waits = done(), iter(WAITS)
            wait = next(waits, None)
            if wait is None:
                raise
            time.sleep(wait)


def _verify(file: File, part: Path, etag: str, url: str) -> str | None:
    """Compare checksums; what is to be said if there is none but the hub's own."""
    wanted = file.sha256 or etag
    found = _git_sha1(part) if len(wanted) == 40 else _sha256(part)
    if found != wanted:
        part.unlink()
        raise HubError(
            f"{file.path} arrived with the checksum {found}, which must be {wanted}, and was "
            f"deleted. Fetch it again; if that does not help, {_host(url)} or a proxy changes files"
        )
    if file.sha256 is not None:
        return None
    return f"{file.path} is what the hub says it is, by {wanted}: no other checksum is known of it"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git_sha1(path: Path) -> str:
    """By which the hub knows files that are not large."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    digest.update(path.read_bytes())
    return digest.hexdigest()


def _make_sure_of_room(part: Path, needed: int) -> None:
    if shutil.disk_usage(part.parent).free < needed:
        raise OSError(errno.ENOSPC, f"{_megabytes(needed)} are needed", str(part.parent))


@contextmanager
def _in_words(entry: Entry, file: File, url: str) -> Iterator[None]:
    """What went wrong and what to do, instead of what the client says."""
    host, what = _host(url), f"{file.path} of {entry.repository}"
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise HubError(
            f"HF_HUB_OFFLINE is set, and {what} is not here: unset it, or {_elsewhere(entry)}"
        ) from error
    except HfHubHTTPError as error:
        raise HubError(_refused(error.response.status_code, host, what, entry)) from error
    except (httpx2.ConnectError, httpx2.ProxyError) as error:
        raise HubError(
            f"{host} cannot be reached{_through()} ({error}). If this machine is behind a proxy, "
            f"set HTTPS_PROXY; if the hub is blocked, set HF_ENDPOINT to a mirror; if it is "
            f"offline, {_elsewhere(entry)}"
        ) from error
    except httpx2.HTTPError as error:
        raise HubError(
            f"{what} did not arrive whole from {host}{_through()} ({error or 'it took too long'}). "
            f"Run it again to go on: what is here is kept"
        ) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        free = _megabytes(shutil.disk_usage(entry.folder).free)
        raise HubError(
            f"there is no room for {what}: {entry.folder} has {free} left ({error.strerror}). Free "
            f"some, or name a folder on another disk by XDG_CACHE_HOME, and run it again to go on"
        ) from error


def _refused(status: int, host: str, what: str, entry: Entry) -> str:
    if status in (401, 403):
        return (
            f"{host} refuses {what} ({status}). It should be there for everyone: if HF_TOKEN is "
            f"set, unset it, for it may be wrong or have expired; if HF_ENDPOINT names a mirror "
            f"that wants one, set it; else {_elsewhere(entry)}"
        )
    if status == 404:
        return (
            f"{host} has no {what} at {entry.revision} (404). If HF_ENDPOINT names a mirror, try "
            f"without; else it was removed: {_elsewhere(entry)}"
        )
    return (
        f"{host} answers {status} for {what}, {len(WAITS) + 1} times: it has too much to do, or is "
        f"broken. Run it again later to go on: what is here is kept"
    )


def _elsewhere(entry: Entry) -> str:
    return f"fetch it on another machine, and copy {entry.folder} from there"


def _through() -> str:
    """The proxy that the environment names, without what may be a password."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        if os.environ.get(name):
            return f" through the proxy {_host(os.environ[name])} that {name} names"
    return ""


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or url


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
