"""The first answer of the page follows from the results alone."""

from __future__ import annotations

from typing import Any

import synthetic
from sweep_analysis.say.recommendation import Recommendation, recommendation
from sweep_analysis.stats.analysis import analyse


def recommended(effects: dict[tuple[str, str], float], **truth: Any) -> Recommendation:  # noqa: ANN401 - any field of `Truth`
    fields: dict[str, Any] = {
        "branches": ["master", "good", "other"],
        "workloads": {"quicksort": 0.2, "tsp": 0.05},
        "threads": [1, 2],
        "trials": 7,
        "effects": effects,
    }
    made = synthetic.Truth(**(fields | truth))
    return recommendation(analyse(synthetic.swept(made)).decisions)


def test_a_branch_that_gains_everywhere_is_to_be_merged() -> None:
    found = recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 0.8})
    assert found.merge == "good"
    assert found.answer == (
        "good: takes less time and CPU time than master over all programs together. Losses above 2.0 % on any "
        "workload are ruled out, and above 5.0 % on any workload at one thread count."
    )
    assert any("−20." in sentence or "−19." in sentence for sentence in found.evidence)


def test_a_branch_that_gains_on_one_workload_and_loses_on_none_is_to_be_merged() -> None:
    found = recommended({("good", "tsp"): 0.8}, trial_noise=0.005)
    assert found.merge == "good"


def test_a_gain_is_no_advice_while_a_loss_elsewhere_is_not_excluded() -> None:
    found = recommended({("good", "tsp"): 0.8}, trial_noise=0.03)
    assert found.merge is None
    assert found.answer.startswith("None yet: good takes less")
    assert "are not ruled out (on quicksort · small)" in found.answer


def test_a_branch_that_hangs_on_a_workload_is_not_recommended_however_fast_it_is() -> None:
    def hangs(branch: str, workload: str, *_: int) -> str | None:
        return "timeout" if (branch, workload) == ("good", "tsp") else None

    found = recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 0.8}, fails=hangs)
    assert found.merge is None
    assert (
        "good fails on tsp · small: 14 of 14 trials (timeout), more than of master." in found.hurts
    )


def test_what_fails_on_the_baseline_as_well_is_no_loss() -> None:
    def crashes(_: str, workload: str, threads: int, replicate: int) -> str | None:
        return "crash" if (workload, threads, replicate) == ("tsp", 2, 3) else None

    found = recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 0.8}, fails=crashes)
    assert found.merge == "good"


def test_a_branch_without_trials_in_some_configurations_is_not_recommended() -> None:
    def gone(branch: str, workload: str, threads: int, _: int) -> str | None:
        return "refused" if (branch, workload, threads) == ("good", "tsp", 2) else None

    assert recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 0.8}, fails=gone).merge is None


def test_a_workload_that_only_the_baseline_or_its_control_lacks_prevents_a_recommendation() -> None:
    for lacking in ("master", "master-again", "other"):

        def crashes(branch: str, workload: str, *_: int, lacking: str = lacking) -> str | None:
            return "crash" if (branch, workload) == (lacking, "tsp") else None

        found = recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 0.8}, fails=crashes)
        assert found.merge == ("good" if lacking == "other" else None), lacking
        if lacking != "other":
            assert "losses of any size are not ruled out (" in found.answer


def test_a_gain_with_a_loss_elsewhere_is_stated_with_the_loss() -> None:
    found = recommended({("good", "quicksort"): 0.8, ("good", "tsp"): 1.25})
    assert found.merge is None
    assert found.answer == (
        "None: each branch that gains also loses somewhere (good), so none is non-inferior to master."
    )
    assert any(
        "good takes 2" in sentence and "% more" in sentence and "on tsp · small" in sentence
        for sentence in found.hurts
    )


def test_where_nothing_differs_the_baseline_is_kept_and_the_sensitivity_told() -> None:
    found = recommended({})
    assert found.merge is None
    assert found.answer.startswith(
        "None: keep master. No branch differs significantly from master in wall time,"
    )
    assert any("with a probability of about 80 %" in sentence for sentence in found.evidence)
    assert found.hurts[0] == "No significant loss against master."


def test_a_branch_that_only_loses_is_named() -> None:
    found = recommended({("other", "quicksort"): 1.25, ("other", "tsp"): 1.25})
    assert found.answer.startswith("None: keep master. Over all programs: other takes 2")
    assert "% more" in found.answer
    assert found.evidence[0].startswith("other: +")


FORK = {"packed": [], "good": ["split"], "other": ["no-jec"]}
WITH_PLAIN_FORK: dict[str, Any] = {
    "branches": ["master", "packed", "good", "other"],
    "features": FORK,
}


def test_what_the_forks_scheduler_gains_is_no_merit_of_a_branchs_counters() -> None:
    effects = {(branch, "tsp"): 0.8 for branch in FORK}
    found = recommended(effects, **WITH_PLAIN_FORK)
    assert found.merge is None
    assert found.answer.startswith("None: keep master's counters. ")
    assert "The fork's scheduler explains the gains" in found.answer


def test_a_gain_over_the_baseline_and_over_its_counters_in_the_fork_is_to_be_merged() -> None:
    effects = {(branch, "tsp"): 0.9 for branch in FORK} | {("good", "tsp"): 0.8}
    found = recommended(effects, **WITH_PLAIN_FORK)
    assert found.merge == "good"


def test_a_gain_of_a_branch_outside_the_fork_needs_no_other_comparison() -> None:
    effects = {("packed", "tsp"): 0.8, ("theirs", "tsp"): 0.8}
    found = recommended(effects, branches=["master", "packed", "theirs"], features={"packed": []})
    assert found.merge == "theirs"


def test_without_an_aa_control_there_is_no_recommendation() -> None:
    found = recommended({("good", "tsp"): 0.5}, twin=False)
    assert found.merge is None
    assert found.answer.startswith(
        "This sweep cannot decide: the baseline did not run a second time"
    )
