from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from towers import draw_all
from towers import towers as make_towers

from ital.collection import describe, index

settings.register_profile(
    "ital",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ital")

# In the background of a shell Ctrl-C is ignored, here and by all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

NO_SKIPS = os.environ.get("ITAL_NO_SKIPS") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where nothing may be skipped, a skipped test is a failed one."""
    report = yield
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but ITAL_NO_SKIPS is set: {report.longrepr}"
    return report


def pytest_collection_modifyitems(items):
    """The longest test comes first: all others would have ended before it."""
    items.sort(key=lambda item: item.path.name != "test_wheel.py")


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Path:
    """A folder for what takes long to make, of all processes that run these tests together."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    (folder / "shared").mkdir(exist_ok=True)
    return folder / "shared"


@pytest.fixture(scope="session", autouse=True)
def cache(shared, tmp_path_factory) -> Iterator[Path]:
    """Cache and data folders of the tests' own, for this process and those that it starts."""
    folder = shared / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield folder


@pytest.fixture(scope="session")
def towers(tmp_path_factory) -> Path:
    """A model of pictures and words that knows colours and shapes: model.onnx and all."""
    return make_towers(tmp_path_factory.mktemp("towers"))


@pytest.fixture(scope="session")
def shapes(towers, tmp_path_factory) -> Path:
    """Drawings of three shapes in four colours, twenty of each, indexed by that model."""
    folder = draw_all(tmp_path_factory.mktemp("shapes") / "drawings", 20)
    model, text = (str(towers / name) for name in ("model.onnx", "text_model.onnx"))
    index(folder, model=describe(model, text_model=text))
    return folder


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
def corel_store(corel, shared) -> Path:
    """Their collection, with the default model."""
    with FileLock(shared / "corel.lock"):
        index(corel, shared / "corel")  # opens nothing that is there already
    return shared / "corel"


@pytest.fixture(scope="session")
def butterflies(data_folder):
    """The butterflies, scaled as in the paper: all features jointly to [0, 1]."""
    with np.load(data_folder / "butterflies.npz") as data:
        low, high = data["X_train"].min(), data["X_train"].max()
        return {
            **{name: data[name] for name in ("y_train", "y_test")},
            **{name: (data[name] - low) / (high - low) for name in ("X_train", "X_test")},
        }
