from __future__ import annotations

import huggingface_hub
import pytest
from hubs import REVISION, serving, sha256
from making import draw
from networks import means, tokens
from running import invoke

from ital.collection import Collection, hub, shelf
from ital.collection.store import Store

TABLE = """
[tiny]
repository = "someone/tiny"
revision = "{revision}"
licence = "MIT"
dimension = 3
side = 32
normalisation = "imagenet"
output = "last_hidden_state"

[tiny.fp32.picture]
path = "onnx/model.onnx"
size = {size}
sha256 = "{sha256}"

[tiny.int8.picture]
path = "onnx/model_int8.onnx"
"""


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A hub with a model whose files for int8 are not verified."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "WAITS", ())
    content = tokens(tmp_path / "t.onnx").read_bytes()
    files = {"onnx/model.onnx": content, "onnx/model_int8.onnx": content}
    about = {"revision": REVISION, "size": len(content), "sha256": sha256(content)}
    table = shelf.read(TABLE.format(**about))
    monkeypatch.setattr(shelf, "shelf", lambda: table)
    with serving(files) as serves:
        monkeypatch.setenv("HF_ENDPOINT", serves.address)
        huggingface_hub.close_session()
        yield serves
    huggingface_hub.close_session()


@pytest.fixture
def pictures(tmp_path):
    for number in range(6):
        draw(tmp_path / "pictures" / f"{number}.png", number)
    return tmp_path / "pictures"


def test_the_real_table_is_listed():
    result = invoke("models")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert lines[0] == ["name", "dimensions", "MB", "licence", "words", "here"]
    assert ["lite0", "1280", "Apache-2.0", "no", "yes"] in lines
    assert ["dinov2-small", "384", "89", "Apache-2.0", "no", "no"] in lines
    assert ["clip-vit-b32:int8", "512", "156", "MIT", "yes", "no"] in lines
    assert ["dinov2-base:int8", "768", "?", "Apache-2.0", "no", "no"] in lines


def test_fetched_by_name_and_used(served, pictures):
    result = invoke("index", pictures, "--model", "tiny")
    assert result.exit_code == 2
    assert "the model tiny is not on this machine: ital models get tiny" in result.output
    assert served.requests == []
    result = invoke("models", "get", "tiny")
    assert result.exit_code == 0, result.output
    assert result.stdout == "tiny (MIT) is here: ital index FOLDER --model tiny\n"
    assert invoke("models").output.splitlines()[3].split() == ["tiny", "3", "0", "MIT", "no", "yes"]
    assert "was here already" in invoke("models", "get", "tiny").output
    result = invoke("index", pictures, "--model", "tiny")
    assert result.exit_code == 0, result.output
    assert Collection.open(pictures).features().shape == (6, 3)
    assert invoke("index", pictures).exit_code == 0


def test_what_is_not_verified_is_said(served):
    result = invoke("models", "get", "tiny", "--precision", "int8")
    assert result.exit_code == 0, result.output
    assert "Not verified: onnx/model_int8.onnx is what the hub says it is, by" in result.stderr
    assert "--model tiny:int8" in result.stdout
    assert "was here already" in invoke("models", "get", "tiny:int8").stdout


def test_what_cannot_be_fetched(served, monkeypatch):
    result = invoke("models", "get", "huge")
    assert result.exit_code == 2
    assert "name must be one of tiny, got 'huge'" in result.output
    result = invoke("models", "get", "tiny", "--precision", "fp64")
    assert result.exit_code == 2
    assert "the precision of tiny must be one of fp32, int8, got 'fp64'" in result.output
    served.statuses = [503]
    result = invoke("models", "get", "tiny")
    assert result.exit_code == 2
    assert "answers 503" in result.output


def test_ctrl_c(served, monkeypatch):
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hub, "_receive", interrupted)
    result = invoke("models", "get", "tiny")
    assert result.exit_code == 130
    assert "Interrupted. Run it again to go on." in result.stderr


def test_two_models_describe_one_collection(served, pictures, tmp_path):
    other = means(tmp_path / "m.onnx")
    result = invoke("index", pictures, "--model", f"tiny+{other}")
    assert result.exit_code == 2
    assert "tiny is not on this machine" in result.output
    assert invoke("models", "get", "tiny").exit_code == 0
    result = invoke("index", pictures, "--model", f"tiny+{other}")
    assert result.exit_code == 0, result.output
    assert Collection.open(pictures).features().shape == (6, 6)
    assert "6 unchanged" in invoke("index", pictures).output


def test_a_text_model_goes_with_a_file(pictures, tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    text = means(tmp_path / "text.onnx")
    result = invoke("index", pictures, "--model", means(tmp_path / "m.onnx"), "--text-model", text)
    assert result.exit_code == 0, result.output
    store = Store.find(pictures)
    assert store.model(store.about.current).files.text == text
    result = invoke("index", pictures, "--text-model", text)
    assert result.exit_code == 2
    assert "--text-model need --model" in result.output
