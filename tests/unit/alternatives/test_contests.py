"""Who trains what beside our workloads, and that all train the same."""

from __future__ import annotations

import pytest

from benchmarks.alternatives.__main__ import main
from benchmarks.alternatives.contests import CONTESTS, OURS, params_of
from benchmarks.alternatives.keras_steps import optimizer_of
from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.base import Optimizer


@pytest.mark.parametrize("workload", CONTESTS)
@pytest.mark.parametrize("tiny", [False, True])
def test_every_size_can_be_had(workload: str, tiny: bool) -> None:
    contest = CONTESTS[workload]
    params = params_of(contest, tiny=tiny, changed={})
    assert contest.contestants[0] == OURS
    assert {"batch_size", "precision", "xla"} <= set(params)
    assert tiny or params["xla"] is True


def test_what_is_asked_for_holds_where_a_workload_has_it() -> None:
    changed = {"batch_size": 7, "image_size": 96}
    assert params_of(CONTESTS["resnet50"], tiny=False, changed=changed)["image_size"] == 96
    assert params_of(CONTESTS["gpt2"], tiny=False, changed=changed)["batch_size"] == 7


@pytest.mark.parametrize("changed", [{"width": 0.5}, {"input": "host"}, {"weight_decay": 0.1}])
def test_a_network_that_the_others_have_not_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="the others have"):
        params_of(CONTESTS["resnet50"], tiny=False, changed=changed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workloads", "resnet51"], "no contest of resnet51"),
        (["--workloads", "gpt2", "--contestants", "jax"], "no contestant jax"),
        (["--workloads", "gpt2", "--rounds", "0"], "--rounds is at least 1"),
        (["--workloads", "gpt2", "--set", "batch_size"], "NAME=VALUE"),
        (["--workloads", "gpt2", "--set", "batch_size=many"], "batch_size must be an int"),
    ],
)
def test_bad_arguments_end_before_anything_runs(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


class _Recorder:
    """Stands in for Keras: what an optimizer is made with."""

    def __init__(self) -> None:
        self.optimizers = self

    def __getattr__(self, name: str) -> object:
        return lambda *args, **kwargs: (name, args, kwargs)


@pytest.mark.parametrize(
    ("rule", "made"),
    [
        (Optimizer("sgd", 0.1), ("SGD", (0.1,), {"momentum": 0.0})),
        (Optimizer("momentum", 0.1, momentum=0.8), ("SGD", (0.1,), {"momentum": 0.8})),
        (Optimizer("adam", 0.1, beta_1=0.8, beta_2=0.95, epsilon=1e-6), ("Adam", (0.1, 0.8, 0.95, 1e-6), {})),
        (Optimizer("rmsprop", 0.1, decay=0.8, momentum=0.7, epsilon=1.0), ("RMSprop", (0.1, 0.8, 0.7, 1.0), {})),
    ],
)
def test_the_optimizer_is_of_the_same_kind(rule: Optimizer, made: object) -> None:
    assert optimizer_of(_Recorder(), rule) == made
