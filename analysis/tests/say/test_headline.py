"""The reason why a sweep tests no branch."""

from __future__ import annotations

import truth
from sweep_analysis.say.headline import why_untested
from sweep_analysis.stats.decisions import decisions_of


def test_a_sweep_whose_configurations_are_all_bimodal_names_this_as_the_reason() -> None:
    case = truth.CASES["simulated, every name bimodal"]
    decisions = decisions_of(*truth.sweep_of(case, 0))
    assert decisions.rows["is_bimodal"].all()
    assert why_untested(decisions) == "each configuration is bimodal"
