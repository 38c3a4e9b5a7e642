from __future__ import annotations

import json

import numpy as np
import pytest

import oracle
from ital.evaluation import average_precision, tune
from ital.evaluation.datasets.base import Dataset, Task
from ital.kernel import Kernel
from ital.pool import Pool


def dataset(n=60, seed=0) -> Dataset:
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    features = rng.standard_normal((n, 4)) * 0.6
    features[np.arange(n), classes] += 1.5
    tasks = [
        Task(str(one), features, features, *[np.where(classes == one, 1, -1)] * 2)
        for one in range(3)
    ]
    return Dataset("mine", tasks)


def relevance(data: Dataset) -> np.ndarray:
    return np.stack([task.train_relevance for task in data.tasks])


class TestFolds:
    def test_every_image_is_ranked_once_by_what_it_does_not_belong_to(self):
        data = dataset()
        folds = tune.folds(data.tasks[0], relevance(data), 10, None, 0)
        assert len(folds) == 10
        assert sorted(i for fold in folds for i in fold.ranked) == list(range(60))
        for fold in folds:
            assert sorted([*fold.known, *fold.ranked]) == list(range(60))

    def test_a_few_shots(self):
        data = dataset()
        for fold in tune.folds(data.tasks[0], relevance(data), 5, 2, 0):
            assert not set(fold.known) & set(fold.ranked)
            assert (relevance(data)[:, fold.known] == 1).sum(axis=1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("kernel", [Kernel(1.0), Kernel(0.5, 2.0, 0.1), Kernel(5.0, 1.0, 1e-3)])
def test_precision_is_that_of_processes_fitted_to_each_fold(kernel):
    data = dataset(30)
    folds = tune.folds(data.tasks[0], relevance(data), 5, None, 0)
    expected = []
    for fold in folds:
        for task in data.tasks:
            process = oracle.Model(
                task.train,
                {int(i): float(task.train_relevance[i]) for i in fold.known},
                kernel.length_scale,
                kernel.variance,
                kernel.noise,
            )
            mean, _ = process.predict(fold.ranked.tolist())
            truth = task.train_relevance[fold.ranked] == 1
            if truth.any():
                expected.append(average_precision(truth, mean))
    found = tune.precision(Pool(data.tasks[0].train), relevance(data), folds, kernel)
    assert found == pytest.approx(np.mean(expected), abs=1e-9)


def test_unnameable_images_are_not_learnt_from():
    data = dataset(30)
    truth = relevance(data)
    truth[0, :10] = 0
    folds = tune.folds(data.tasks[0], truth, 3, None, 0)
    kernel = Kernel(1.0, noise=1e-2)
    expected = []
    for fold in folds:
        for row in truth:
            labels = {int(i): float(row[i]) for i in fold.known if row[i] != 0}
            process = oracle.Model(data.tasks[0].train, labels, 1.0, 1.0, 1e-2)
            named = [int(i) for i in fold.ranked if row[i] != 0]
            if (row[named] == 1).any():
                expected.append(average_precision(row[named] == 1, process.predict(named)[0]))
    found = tune.precision(Pool(data.tasks[0].train), truth, folds, kernel)
    assert found == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize("shots", [None, 3])
def test_no_neighbour_is_better(shots):
    data, tried = dataset(), []
    best, median = tune.tune(data, 5, shots, 0, tried.append)
    assert median.kernel == tune.median_kernel(data) == tried[0].kernel
    assert median.kernel.length_scale == Pool(data.tasks[0].train).median_distance()
    assert best.precision == max(trial.precision for trial in tried) >= median.precision
    kernels = [trial.kernel for trial in tried]
    assert len(set(kernels)) == len(kernels)
    for name, values in (
        ("length_scale", [best.kernel.length_scale * factor for factor in tune.FACTORS]),
        ("variance", [best.kernel.variance * factor for factor in tune.FACTORS]),
        ("noise", tune.NOISES),
    ):
        for value in values:
            given = {
                one: getattr(best.kernel, one) for one in ("length_scale", "variance", "noise")
            }
            assert Kernel(**{**given, name: value}) in kernels


def test_tasks_of_several_training_sets_are_refused():
    first, second = dataset().tasks[0], dataset(seed=1).tasks[0]
    with pytest.raises(ValueError, match="one training set for all classes, mine has not"):
        tune.tune(Dataset("mine", [first, second]))


class TestConfig:
    def test_there_and_back(self, tmp_path):
        tune.write(Kernel(1.5, 2.0, 0.1), tmp_path / "new" / "kernel.json")
        expected = {"length_scale": 1.5, "variance": 2.0, "noise": 0.1}
        assert tune.read(tmp_path / "new" / "kernel.json") == expected

    @pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"length_scale": -1})])
    def test_broken(self, tmp_path, content):
        (tmp_path / "kernel.json").write_text(content)
        with pytest.raises(ValueError, match="kernel must be a file that 'ital tune' wrote, but"):
            tune.read(tmp_path / "kernel.json")

    def test_not_there(self, tmp_path):
        with pytest.raises(ValueError, match=r"'ital tune' wrote, not .*kernel.json"):
            tune.read(tmp_path / "kernel.json")
