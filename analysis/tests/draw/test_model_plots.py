"""Pictures of the model of simulated machines show every point, and which ones were fitted."""

from __future__ import annotations

from sweep_analysis.draw.model_plots import SOURCES, limits_figure, model_points, published_figure
from sweep_analysis.read.load import CHECKOUT

MODEL = model_points(CHECKOUT / "results" / "model.json")


def test_each_published_point_is_drawn_beside_the_simulated_one() -> None:
    published = MODEL["published"]
    drawn = next(iter(published_figure(published).to_dict()["datasets"].values()))
    by_source = {source: [row for row in drawn if row["source"] == source] for source in SOURCES}
    assert len(by_source[SOURCES[0]]) == published.height
    assert len(by_source[SOURCES[1]]) == published["is_fitted"].sum() > 0
    assert len(by_source[SOURCES[2]]) == (~published["is_fitted"]).sum() > 0


def test_the_limits_are_drawn_beside_what_the_model_gives() -> None:
    text = limits_figure(MODEL["hot_line"], MODEL["greedy"]).to_json()
    assert "least_us" in text
    assert "accesses_per_transfer" in text
    assert (
        MODEL["greedy"]
        .filter(MODEL["greedy"]["simulated_us"] < MODEL["greedy"]["least_us"] - 0.01)
        .is_empty()
    )
