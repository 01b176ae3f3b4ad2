"""Recording one run of one mode: from the first process to closed evidence.

Nothing is judged here. After any error the scopes end what they started, and the record stays and
can be judged with ``fencepost check``.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack

from cluster.backends import backend
from cluster.configuration import RACK_SCRIPT, rack_script, rack_settings
from cluster.interface import Cluster, Exit
from cluster.processes.settings import RunSpec
from cluster.servers.offline import transactions
from evidence.collect.histories import segment_files
from evidence.folder import DEFAULT_BACKEND, RunFolder, point_latest
from evidence.recorders import Recorder
from harness.cleaning import full_disk
from harness.judging import Judge
from harness.narrator import Narrator
from harness.own_settings import bookie_settings, settings_lines
from harness.preparing import Prepared
from harness.provenance import clock, cpu_s, load_since, provenance, waited_ns
from harness.recording.context import Ledgers, RunContext, counts_as_result, format_death
from harness.recording.finals import heal_everything, observe
from harness.recording.pausing import pause
from harness.recording.perform import run_rounds
from harness.request import properties_of
from harness.steps.admin import Admin
from harness.steps.loads import abandon_all
from nemesis.nemesis import Nemesis
from plans.cluster import ClusterSpec
from plans.grammar.rounds import every
from plans.resolve import ResolvedPlan
from protocol.errors import LinkError, UnplannedDeathError
from protocol.faults import UNPLANNED
from protocol.modes import MODES
from protocol.wording import counted
from reports.text import busy_text


def record(prepared: Prepared, folder: RunFolder, judge: Judge | None, narrator: Narrator) -> None:
    """Run the plan in the folder's mode and close its evidence.

    ``judge`` is None where another process judges, which then ensures that its session is idle.

    Raises the error of the harness or the machine that ended the run early; ``UnplannedDeathError`` when a
    death is no result of the run (:func:`counts_as_result`), although every step succeeded.
    """
    began_ns, waited_before_ns, cpu_before_s = time.monotonic_ns(), waited_ns(), cpu_s()
    plan = prepared.resolved(folder.mode)
    spec = _spec(prepared, plan, folder)
    folder.write_run(_facts(prepared, plan, spec))
    point_latest(prepared.request.results, folder.path.parent)  # only now it is a run that can be read
    with ExitStack() as scopes:
        steps = scopes.enter_context(Recorder(folder.steps))
        faults = scopes.enter_context(Recorder(folder.faults))
        for text, style in settings_lines(spec, prepared.request):
            narrator.event(text, style=style)
        repair = f"{spec.autorecovery} for autorecovery, " if spec.autorecovery else ""
        bookies, clients = counted(spec.bookies, "bookie"), counted(len(spec.clients), "client")
        servers = f"ZooKeeper, {bookies}, {repair}{clients}, the observer"
        narrator.event(f"starting {servers}")
        with backend(prepared.request.backend).open_cluster(spec) as cluster:
            narrator.event("all processes are ready")
            if judge is not None:
                judge.wait_warm()
            ledgers = Ledgers(steps, rounds=plan.plan.rounds)
            nemesis = Nemesis(cluster, faults.write, ledger=ledgers.id, random=plan.stream)
            context = RunContext(cluster, nemesis, ledgers, narrator, plan, folder, steps)
            if prepared.request.steps_s is not None:
                context.steps_until = time.monotonic() + prepared.request.steps_s
            try:
                _steps_and_observation(context)
                if prepared.request.pause_on and judge is not None:
                    pause(context, judge, on=prepared.request.pause_on)
            finally:
                wire = _wire(cluster, narrator)
                unplanned = cluster.unplanned()
                for number, death in enumerate(unplanned, start=1):
                    narrator.event(f"UNPLANNED: {format_death(death)}", style="red")
                    faults.write(_unplanned_fault(number, death))
                context.deviations += [format_death(death) for death in context.unnoted()]
                nemesis.close()
            narrator.event("stopping everything")
        for sentence in cluster.hung:
            context.note(sentence)
        transactions(folder)
        own = prepared.request.backend == DEFAULT_BACKEND  # an engine's containers are none of our processes
        spent_s = round(cpu_s() - cpu_before_s, 1) if own else None
        load = load_since(began_ns, waited_before_ns)
        if busy := busy_text(folder.run()["load"], load):
            narrator.event(busy, style="yellow")
        folder.write_end({**_end(context, wire), "load": {**load, "cpu_s": spent_s}})
    no_results = [death for death in unplanned if not counts_as_result(death)]
    if no_results:
        raise UnplannedDeathError(
            "; ".join(map(format_death, no_results)),
            remedy=f"its log is in {folder.servers}; judge with `fencepost check`",
        )


def _steps_and_observation(context: RunContext) -> None:
    """The steps, then healing, census and final reads.

    A deviation from the plan only ends the steps (:mod:`harness.recording.context`). After any other error
    nothing is healed, because no final reads follow that would need it: the faults in force end with their
    servers, and before them what a fault does in this process.
    """
    context.cluster.observer.call("watch", timeout_s=120)  # it follows every ledger's metadata from here on
    try:
        run_rounds(context)
        heal_everything(context)
        observe(context)
    except BaseException as error:
        context.narrator.event(f"ends early: {str(error) or type(error).__name__}", style="red")
        if full := full_disk(context.folder.path):
            context.narrator.event(full, style="red")
        abandon_all(context)
        raise


def _spec(prepared: Prepared, plan: ResolvedPlan, folder: RunFolder) -> RunSpec:
    request, cluster = prepared.request, plan.plan.cluster
    placing = _placing(cluster, folder)
    return RunSpec(
        folder=folder,
        mode=MODES[plan.mode],
        bookies=cluster.bookies,
        clients=plan.plan.clients,
        run_id=secrets.randbits(63),
        version=prepared.version,
        versions=cluster.versions,
        bookie_conf=placing | cluster.bookie_conf,
        client_conf=placing | cluster.client_conf,
        user_bookie_conf=bookie_settings(request, plan.plan),
        user_client_conf=properties_of(request.client_conf),
        disks=cluster.disks,
        following=cluster.zk2,
        autorecovery=cluster.autorecovery,
        autorecovery_conf=placing | cluster.autorecovery_conf,
        changes=cluster.changes,
        administered=any(isinstance(step.params, Admin) for step in every(plan.plan.steps)),
    )


def _placing(cluster: ClusterSpec, folder: RunFolder) -> dict[str, str]:
    """The settings of rack-aware placement, its script written; none without racks."""
    if not cluster.racks:
        return {}
    script = folder.path.absolute() / RACK_SCRIPT
    script.write_text(rack_script(cluster.racks))
    script.chmod(0o755)
    return rack_settings(str(script), cluster.min_racks)


def _facts(prepared: Prepared, plan: ResolvedPlan, spec: RunSpec) -> dict[str, object]:
    return {
        **plan.as_json(),
        "run_id": str(spec.run_id),
        "scenario": plan.plan.name,
        "source": prepared.request.scenario,
        "rounds": prepared.request.rounds,
        **({"repeat": list(prepared.request.repeat)} if prepared.request.repeat else {}),
        "user_files": {name: str(path) for name, path in prepared.request.files.items()},
        "bookkeeper": spec.version,
        "versions": {name: spec.version_of(name) for name in spec.sources},
        "clients": spec.client_numbers,
        "bookies": {name: spec.sources[name] for name in spec.bookie_names},
        "others": spec.other_numbers,
        "backend": prepared.request.backend,
        "conf": spec.describe(backend(prepared.request.backend).network),
        "user_conf": {"bookie": dict(spec.user_bookie_conf), "client": dict(spec.user_client_conf)},
        **provenance(),
    }


def _wire(cluster: Cluster, narrator: Narrator) -> Mapping[str, object] | None:
    """The proxy's present report on its log; None without a log or a report."""
    try:
        return cluster.links.wire()
    except LinkError as error:
        narrator.event(f"the proxy does not report on its log: {error}", style="red")
        return None


def _end(context: RunContext, wire: Mapping[str, object] | None) -> dict[str, object]:
    slots: Counter[str] = Counter()
    for file in segment_files(context.folder.operations):
        slots[file.client] += file.slots
    return {
        **({} if wire is None else {"wire": wire}),
        "complete": True,
        **({"left_out": context.left_out} if context.left_out else {}),
        **({"otherwise": context.deviations} if context.deviations else {}),
        **({"not_asked": context.not_asked} if context.not_asked else {}),
        "closed_ns": time.monotonic_ns(),
        "clock": clock(),
        # The number of slots that each client's files use, so that a later loss of a file is detected.
        "histories": {client: {"slots": count} for client, count in sorted(slots.items())},
    }


def _unplanned_fault(number: int, death: Exit) -> dict[str, object]:
    return {
        "fault": -number,  # the nemesis numbers its own from 1
        "kind": UNPLANNED,
        "target": death.server,
        "params": {},
        "phase": "confirmed",
        "at_ns": death.at_ns,
        "proof": {"boot": death.boot, "code": death.code, "signal": death.signal},
    }
