"""The step of an operator: one of BookKeeper's own admin commands, on the run's own servers.

What a command said is in ``servers/admin``; how it ended is the step's outcome.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, WithJsonSchema, model_validator

from cluster.interface import ProcessState
from cluster.processes.boot_logs import telling_lines
from cluster.servers.admin import Administered
from evidence.codes import Outcome
from harness.recording.context import RunContext
from harness.registry import Done, step
from plans.grammar.names import BookieName, one_of
from plans.grammar.steps import HasOutcome
from protocol.errors import UsageError
from protocol.shell import COMMANDS, ShellCommand


class Admin(HasOutcome):
    """One of BookKeeper's own admin commands; its end is the step's outcome, a time-out is unknown.

    `fencepost list admin` says what each command does. ``anyway`` gives it also where BookKeeper's documents
    say that its target must be down.
    """

    command: Annotated[
        str,
        one_of("admin command", COMMANDS),
        WithJsonSchema({"enum": sorted(COMMANDS), "type": "string"}),
    ]
    target: BookieName | None = None
    timeout_s: float = Field(default=120, gt=0)
    anyway: bool = False

    @model_validator(mode="after")
    def _about_a_bookie(self) -> Self:
        targeted = COMMANDS[self.command].targeted
        if targeted != (self.target is not None):
            raise ValueError(f"`{self.command}` {'needs a' if targeted else 'takes no'} `target`")
        return self


@step(Admin)
def admin(context: RunContext, step: Admin) -> Done:
    """Run one command to its end: ok, fail by its exit code or its output, unknown after a timeout."""
    cluster = context.cluster
    command = COMMANDS[step.command]
    _down_where_it_must_be(context, step, command)
    done = cluster.administer(command, step.target, timeout_s=step.timeout_s)
    outcome, how = _judged(command, done, step.timeout_s)
    target = f" {step.target}" if step.target else ""
    facts = {
        "code": done.ended.code if done.ended else None,
        "signal": done.ended.signal if done.ended else None,
        "output": str(done.output.relative_to(context.folder.path.absolute())),
    }
    return Done(f"admin {step.command}{target}: {how}", outcome, facts)


def _down_where_it_must_be(context: RunContext, step: Admin, command: ShellCommand) -> None:
    if not command.needs_down or step.anyway or step.target is None:
        return
    state = context.cluster.process(step.target).state
    if state is not ProcessState.DOWN:
        raise UsageError(
            f"`{step.command}` wants {step.target} to be down, and it is {state}",
            remedy="stop it before, or write `anyway: true` to see what becomes of it",
        )


def _judged(command: ShellCommand, done: Administered, timeout_s: float) -> tuple[Outcome, str]:
    if done.ended is None:
        return Outcome.UNKNOWN, f"had not ended after {timeout_s:g} s and was killed"
    failed = command.failed(done.output.read_text(errors="replace"))
    how = f"exit code {done.ended.code}" if done.ended.signal is None else f"signal {done.ended.signal}"
    if done.ended.code == 0 and failed is None:
        return Outcome.OK, how
    lines = [failed] if failed else telling_lines(done.output)[:1]
    return Outcome.FAIL, ": ".join([how, *lines])
