"""Bars are met and missed by the counts, and the page gets what was counted."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection
from pathlib import Path

import pytest

from benchmarks.verdicts import page
from benchmarks.verdicts.bars import Bar, Cell, ahead, better_peers, check
from benchmarks.verdicts.experiment import FULL, Simulated, Size, run_again
from benchmarks.verdicts.gates import IDENTICAL, Slowdown
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.simulate import Noise, noises, slowdowns
from benchmarks.verdicts.tally import OWN_NAMES, Tally, fewer
from benchmarks.verdicts.words import percent

QUIET, DRIFTING = Noise(0.01), Noise(0.01, 0.03)


def good() -> Simulated:
    """Counts with which every bar is met: 1 false alarm in 1,000, every slowdown caught, 2.9 rounds of 5."""
    results: Simulated = {}
    for noise in noises():
        for slowdown in (IDENTICAL, *slowdowns()):
            alarms = 1 if slowdown == IDENTICAL else 1000
            own = {name: Tally(1000, alarms, rounds=2900, undecided=10) for name in OWN_NAMES}
            none = dict.fromkeys(OWN_NAMES, 0)
            results[noise, slowdown] = own | {peer.name: Tally(1000, alarms, 0, 0, none, none) for peer in PEERS}
    return results


def bars(results: Simulated, other: Simulated | None = None) -> list[Bar]:
    """With `other` for the gates that are judged where a peer seems better; else the same again."""
    return check(results, lambda cells: results if other is None else other)


def failed(results: Simulated, other: Simulated | None = None) -> list[str]:
    return [bar.promise for bar in bars(results, other) if not bar.met]


def test_all_are_met() -> None:
    assert failed(good()) == []


def test_a_setting_without_drift_with_too_many_false_alarms() -> None:
    results = good()
    results[QUIET, IDENTICAL][OWN_NAMES[0]] = Tally(1000, 2, rounds=2900)
    (promise,) = failed(results)
    assert "without drift" in promise
    figures = next(bar.figures for bar in bars(results) if not bar.met)
    assert "CV 1 %, no drift, normal, 1 session: 0.20 %" in figures


def test_drift_counts_once_three_sessions_are_saved() -> None:
    results = good()
    results[DRIFTING, IDENTICAL][OWN_NAMES[0]] = Tally(1000, 300, rounds=2900)
    assert failed(results) == []
    results[DRIFTING, IDENTICAL][OWN_NAMES[1]] = Tally(1000, 6, rounds=2900)
    assert len(failed(results)) == 1
    assert "with drift" in failed(results)[0]


def test_a_slowdown_missed_too_often() -> None:
    results = good()
    results[QUIET, Slowdown(0.05, "T(1)")][OWN_NAMES[1]] = Tally(1000, 949, rounds=2900)
    assert failed(results) == ["A slowdown of 5 % at run CV 1 % caught at least 95 % of the time within 5 rounds"]


def test_rounds_beyond_the_share() -> None:
    results = {key: {name: each + Tally(rounds=200) for name, each in tallies.items()}
               for key, tallies in good().items()}  # fmt: skip
    assert failed(results) == ["Sequential stopping uses at most 60 % of the fixed 5 rounds on average"]


@pytest.mark.parametrize(
    ("quieter", "keener", "listed", "met"),
    [((0, 20), (20, 0), True, False), ((0, 1), (1, 0), True, True), ((20, 0), (20, 0), False, True)],
)
def test_a_peer_that_is_better_on_both(
    quieter: tuple[int, int], keener: tuple[int, int], listed: bool, met: bool
) -> None:
    """Ahead on both beyond chance; on both by chance; on detection alone."""
    results = good()
    slowdown = Slowdown(0.1, "T(2)")
    for key, (alone, silent) in (((QUIET, IDENTICAL), quieter), ((QUIET, slowdown), keener)):
        results[key]["asv"] += Tally(alone={OWN_NAMES[0]: alone}, silent={OWN_NAMES[0]: silent})
    assert bool(list(better_peers(results))) is listed
    assert (failed(results) == []) is met


def test_a_peer_that_was_better_by_chance_is_not_so_of_other_gates() -> None:
    lucky, asked = good(), []
    slowdown = Slowdown(0.1, "T(2)")
    lucky[QUIET, IDENTICAL]["asv"] += Tally(silent={OWN_NAMES[0]: 20})
    lucky[QUIET, slowdown]["asv"] += Tally(alone={OWN_NAMES[0]: 20})

    def again(cells: Collection[Cell]) -> Simulated:
        asked.append(set(cells))
        return good()

    bar = check(lucky, again)[-1]
    assert bar.met
    assert asked == [{(QUIET, slowdown)}]
    assert "beyond chance in 1: asv at CV 1 %, no drift, normal, 1 session (1). So many comparisons" in bar.figures
    assert bar.figures.endswith("of 4 times as many other gates of these, beyond chance in 0")


def test_other_gates_are_not_those_of_before_and_their_number_is_larger() -> None:
    cell = (Noise(0.1), Slowdown(0.2, "both"))
    few = Size(identical=100, slow=50, promised=50, identical_for_slow_peers=5, slow_for_slow_peers=5, shuffles=1)
    found = run_again({cell}, few, 1, lambda text: None, peers=False)
    assert set(found) == {cell, (cell[0], IDENTICAL)}
    assert found[cell][OWN_NAMES[0]].gates == 4 * 50
    assert found[cell[0], IDENTICAL][OWN_NAMES[0]].gates == 4 * 100


def test_where_a_peer_is_ahead_on_one_of_the_two() -> None:
    results, own, slowdown = good(), OWN_NAMES[0], Slowdown(0.1, "T(2)")
    results[QUIET, slowdown]["asv"] += Tally(alone={own: 20}, silent={own: 1})
    results[DRIFTING, IDENTICAL]["asv"] += Tally(alone={own: 0}, silent={own: 20})
    results[QUIET, IDENTICAL]["asv"] += Tally(alone={own: 19}, silent={own: 20})
    found = ahead(results, "asv", own)
    assert found.keener == ((QUIET, slowdown),)
    assert found.quieter == (DRIFTING,)
    assert (found.of_slowdowns, found.of_noises) == (36 * 12, 36)
    assert ahead(results, "asv", OWN_NAMES[1]).keener == ()
    assert f"| asv | {own} | 1 of 432 | 0.10 % to 0.10 % | 1 of 36 |" in page.ahead_table(results)


def test_the_sign_test() -> None:
    assert fewer(0, 10) == pytest.approx(2**-10)
    assert fewer(10, 0) == 1.0
    assert fewer(0, 0) == 1.0


def test_clopper_and_pearson() -> None:
    low, high = Tally(20_000, 0).interval
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 20_000))


def test_tallies_add_up() -> None:
    total = Tally(10, 1, 30, 2, {"a": 1}, {"b": 1}) + Tally(5, 2, 15, 0, {"a": 2}, {"c": 1})
    assert total == Tally(15, 3, 45, 2, {"a": 3}, {"b": 1, "c": 1})


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0005, "0.05 %"), (0.032, "3.2 %"), (0.48, "48 %"), (0.951, "95.1 %"), (1, "100 %"),
     (float("nan"), "-")],
)  # fmt: skip
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_results_go_between_the_markers_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.md"
    path.write_text(f"before\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n")
    page.write_between_markers(path, "new")
    assert path.read_text() == f"before\n\n{page.BEGIN}\nnew\n{page.END}\n\nafter\n"
    path.write_text("no markers")
    with pytest.raises(ValueError, match="no lines"):
        page.write_between_markers(path, "new")


def test_the_page_of_the_project_has_the_markers() -> None:
    text = page.PAGE.read_text()
    assert text.count(page.BEGIN) == text.count(page.END) == 1


def test_every_count_is_in_the_file(tmp_path: Path) -> None:
    results = good()
    page.write_counts(tmp_path / "a.csv.gz", results)
    page.write_counts(tmp_path / "b.csv.gz", results)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    lines = list(csv.DictReader(io.StringIO(gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode())))
    assert len(lines) == 36 * 13 * (len(OWN_NAMES) + len(PEERS))
    assert lines[0]["gates"] == "1000"


def test_tables_have_a_row_for_every_setting() -> None:
    text = page.detection_table(good(), "T(2)")
    assert text.count("\n") == 36 + 1
    assert "100 / 100 / 100 / 100" in text
    assert "0.10 % [0.00 %, 0.56 %]" in page.false_alarms_table(good())
    assert "| **missed** |" in page.bars_table([Bar("a", False, "b")])


def test_a_smaller_size_keeps_the_proportions() -> None:
    assert FULL.scaled_to(2000) == Size(2000, 50, 400, 200, 20, FULL.shuffles)
    assert FULL.scaled_to(10).slow == 5


def test_without_peers_nothing_is_said_of_them() -> None:
    alone = {key: {name: tallies[name] for name in OWN_NAMES} for key, tallies in good().items()}
    assert len(bars(alone)) == len(bars(good())) - 1
    assert failed(alone) == []
