from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ital",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ital")

RAY = [
    sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0",
    "--num-cpus=2", "--object-store-memory=150000000", "--include-dashboard=false",
    "--disable-usage-stats",
]  # fmt: skip

NO_SKIPS = os.environ.get("ITAL_NO_SKIPS") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where nothing may be skipped, a skipped test is a failed one."""
    report = yield
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but ITAL_NO_SKIPS is set: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory) -> Iterator[Path]:
    """Cache and data folders of the tests' own, for this process and those that it starts."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield folder


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("ITAL_DATA")
    if not folder:
        pytest.skip("ITAL_DATA does not name the folder with the benchmark data")
    return Path(folder)


@pytest.fixture(scope="session")
def corel(data_folder) -> Path:
    """The thousand photographs of Corel-1k, a hundred of each kind in the order of names."""
    folder = data_folder.parent / "images" / "corel1k"
    if not folder.is_dir():
        pytest.skip(f"there are no photographs in {folder}")
    return folder


@pytest.fixture(scope="session")
def butterflies(data_folder):
    """The butterflies, scaled as in the paper: all features jointly to [0, 1]."""
    with np.load(data_folder / "butterflies.npz") as data:
        low, high = data["X_train"].min(), data["X_train"].max()
        return {
            **{name: data[name] for name in ("y_train", "y_test")},
            **{name: (data[name] - low) / (high - low) for name in ("X_train", "X_test")},
        }


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Without data, with more threads than one, and with nothing of Ray's outside of a folder."""
    # Of a short name: that of a socket has 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        ours = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_AUTH_MODE": "disabled"}
        threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
        # Ray's workers let all others go first, and would wait for the other tests to end.
        polite = {"RAY_worker_niceness": "0"}
        yield {**os.environ, "ITAL_DATA": "", **ours, **threads, **polite}


@pytest.fixture(scope="module")
def head(environment) -> Iterator[subprocess.Popen[str]]:
    """The process that holds a Ray of two workers, which ends with it."""
    with subprocess.Popen(
        RAY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.terminate()


@pytest.fixture(scope="module")
def address(head) -> str:
    said = ""
    for line in head.stdout:
        said += line
        if found := re.search("--address='(.+)'", line):
            return found[1]
    raise AssertionError(said)
