"""Several runs of one command: ``--times``, many scenarios, many folders; and the exit code.

One Spark session serves them all. The last line says which exit code, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

from evidence.folder import FoundRun, modes_of
from harness.bundles.reading import is_bundle, opened
from harness.experiments.parallel import run_each
from harness.judging import Judge, judging
from harness.narrator import Narrator, print_json
from harness.preparing import Prepared, prepare
from harness.provenance import commit
from harness.request import RunRequest
from harness.run import judge_again
from protocol.errors import EvidenceError, FencepostError, Interrupted
from protocol.exit_codes import ExitCode
from reports.page.stored import compared_modes
from reports.results import ModeResult, RunResult
from reports.seeded import seeded_lines
from reports.series import quoted, series_lines
from reports.trials import Tally, tallies, trials


def run_series(
    requests: Sequence[RunRequest],
    *,
    times: int,
    parallel: int = 1,
    master: str | None = None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run every request ``times`` times; everything is prepared before anything starts.

    ``parallel`` modes are recorded at a time.
    """
    narrator = Narrator(quiet=quiet or as_json)
    prepared = _repeated([prepare(request) for request in requests], times)
    with judging(prepared[0].request.results, master=master) as judge:
        results, error = _results(prepared, judge, narrator, parallel, as_json=as_json)
    return _finish(results, narrator, error, as_json=as_json)


def check_series(
    runs: Sequence[str], results: Path, *, master: str | None = None, quiet: bool, as_json: bool
) -> int:
    """Judge stored runs again."""
    narrator = Narrator(quiet=quiet or as_json)
    with ExitStack() as scopes:
        found = [(name, scopes.enter_context(opened(results, name))) for name in runs]
        for name, one in found:
            if not is_bundle(name):  # which may hold one mode of several
                _require_modes(one)
        before = [_verdicts(one) for _, one in found]
        judge = scopes.enter_context(judging(results, master=master))
        done = [judge_again(one, judge, narrator, stays=not is_bundle(name)) for name, one in found]
        for (name, one), verdicts in zip(found, before, strict=True):
            if is_bundle(name):
                narrator.line(f"{name}: {_held(verdicts, _verdicts(one), one.modes[0].run()['commit'])}")
        return _finish(done, narrator, as_json=as_json)


def _require_modes(found: FoundRun) -> None:
    """``EvidenceError`` when a whole run lacks a mode that was judged: its other modes are not the run."""
    gone = sorted(compared_modes(found.path).keys() - {folder.mode for folder in modes_of(found.path)})
    if gone and found.modes == modes_of(found.path):
        raise EvidenceError(
            f"{found.path / 'verdict.json'} has the mode {gone[0]}, of which there is no run.json",
            remedy="put its folder back, or name the folder of another mode to judge that alone",
        )


def _verdicts(found: FoundRun) -> dict[str, bytes]:
    """What ``verdict.json`` of each mode holds now."""
    return {one.mode: one.verdict_json.read_bytes() for one in found.modes if one.verdict_json.is_file()}


def _held(before: Mapping[str, bytes], now: Mapping[str, bytes], recorded_by: str) -> str:
    """Whether judging a bundle again gives the verdicts that it contains."""
    other = [mode for mode, verdict in now.items() if before.get(mode) != verdict]
    if not other:
        return "judged again: the same verdicts as in the bundle, byte for byte"
    differs = f"judged again: the verdict of {', '.join(other)} differs from the bundle's"
    if recorded_by == commit()[0]:
        return differs
    return f"{differs}, which another version of Fencepost made (commit {recorded_by[:9]})"


def _repeated(prepared: Iterable[Prepared], times: int) -> list[Prepared]:
    return [replace(one, seed=one.seed + time) for one in prepared for time in range(times)]


def _results(
    prepared: Sequence[Prepared], judge: Judge, narrator: Narrator, parallel: int, *, as_json: bool
) -> tuple[list[RunResult], FencepostError | None]:
    """Every result; when an error or Ctrl-C ends the series, the results before it are reported first.

    An error after an anomaly that nothing states is not raised but returned: the anomaly is proven.
    """
    results: dict[int, RunResult] = {}
    try:
        with closing(run_each(prepared, judge, narrator, parallel=parallel)) as ended:
            results.update(ended)  # each as it ends
    except (FencepostError, Interrupted) as error:
        done = _in_order(results)
        if isinstance(error, FencepostError) and exit_code(_modes(done))[0] is ExitCode.ANOMALY:
            return done, error
        if done:
            _report(done, narrator, (error.exit_code, str(error)), as_json=as_json)
        raise
    return _in_order(results), None


def _in_order(results: Mapping[int, RunResult]) -> list[RunResult]:
    return [results[number] for number in sorted(results)]


def _modes(results: Iterable[RunResult]) -> list[ModeResult]:
    return [mode for result in results for mode in result.modes]


def exit_code(modes: Sequence[ModeResult]) -> tuple[ExitCode, str]:
    """The exit code for the results, and the reason as a phrase.

    Precedence: an unexpected anomaly or decision, then unknown, then as expected. A control that did not
    fail, or incomplete evidence, is unknown: the run has not shown that it could fail.
    """
    wrong = [mode for mode in modes if not mode.comparison.met]
    if not wrong:
        return ExitCode.AS_EXPECTED, "as expected"
    for mode in wrong:
        if mode.comparison.unexpected or mode.comparison.contradicted:
            return ExitCode.ANOMALY, f"{mode.mode}: {mode.comparison.reasons[0]}"
    return ExitCode.UNKNOWN, f"{wrong[0].mode}: {wrong[0].comparison.reasons[0]}"


def _finish(
    results: Sequence[RunResult], narrator: Narrator, error: FencepostError | None = None, *, as_json: bool
) -> int:
    modes = _modes(results)
    code, reason = exit_code(modes)
    if error is not None:
        reason += f"; ended early: {error}"
        narrator.line(f"ended early: {error}", style="red")
        if error.remedy:
            narrator.line(f"  next: {error.remedy}")
    _report(results, narrator, (code, reason), as_json=as_json)
    if not as_json:
        met = sum(mode.comparison.met for mode in modes)
        print(f"{met} of {len(modes)} mode runs as expected; exit {code}: {reason}")
    return code


def _report(
    results: Sequence[RunResult], narrator: Narrator, ending: tuple[int, str], *, as_json: bool
) -> None:
    """What the results say together, as JSON with the exit code and its reason."""
    counted = tallies(trials(results))
    if not as_json:
        narrator.lines(series_lines(counted))
        return
    code, reason = ending
    runs, series = [_tree(result) for result in results], [_counts(tally) for tally in counted]
    print_json({"exit": code, "reason": reason, "runs": runs, "series": series})


def _tree(result: RunResult) -> dict[str, object]:
    return {
        "scenario": result.scenario,
        "seed": result.seed,
        "folder": str(result.path),
        "modes": {
            mode.mode: {
                **mode.verdict.as_json(),
                "comparison": asdict(mode.comparison),
                "modified": seeded_lines(mode.folder),
                "load": (mode.folder.end() or {}).get("load"),
            }
            for mode in result.modes
        },
    }


def _counts(tally: Tally) -> dict[str, object]:
    first = tally.first
    return {
        "scenario": first.scenario,
        "mode": first.mode,
        "releases": first.releases,
        "settings": first.settings,
        "of": tally.of,
        "as_stated": tally.as_stated,
        "unknown": tally.unknown,
        "quoted": quoted(tally),
        "stated": [asdict(shown) for shown in tally.stated()],
        "sometimes": [asdict(shown) for shown in tally.sometimes()],
    }
