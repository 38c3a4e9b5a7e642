from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import ital


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ital", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        # Whoever runs the tests in the background has it ignored, which is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_as_a_module():
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"ital {ital.__version__}\n")


@pytest.mark.parametrize("library", ["typer", "rich", "lancedb", "onnxruntime"])
def test_ctrl_c_amid_imports_is_silent(tmp_path, library):
    """Whether it comes before a command has begun, or while that loads what it needs."""
    stub = tmp_path / "stubs" / f"{library}.py"
    stub.parent.mkdir()
    stub.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    (tmp_path / "pictures").mkdir()
    path = os.pathsep.join([str(stub.parent), os.environ.get("PYTHONPATH", "")])
    done = command("index", tmp_path / "pictures", PYTHONPATH=path)
    assert done.returncode == 130
    assert done.stdout + done.stderr == ""
    assert list((tmp_path / "pictures").iterdir()) == []


def test_ctrl_c_stays_ignored_where_it_was(tmp_path):
    """As for programs that a shell runs in the background."""
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN);"
    script += "from ital.__main__ import main; sys.argv = ['ital', '--version'];"
    script += "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGINT)));"
    done = subprocess.run(
        [sys.executable, "-c", f"{script} main()"], capture_output=True, text=True, check=True
    )
    assert str(signal.Handlers.SIG_IGN) in done.stdout
