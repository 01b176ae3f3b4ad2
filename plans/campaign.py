"""A campaign: which scenarios run in which modes, on which releases, with how many seeds, and for how long.

A YAML file, read with the errors of plans. Runs nothing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from plans.grammar.names import AnyMode, Params
from plans.load import scenarios
from plans.matrix import Matrix
from plans.models import Value
from plans.reading.document import parse_file
from plans.reading.mistakes import checked, modelled
from plans.reading.nearest import unknown
from plans.versions import Version
from protocol.errors import PlanError

CAMPAIGNS = Path(__file__).resolve().parent.parent / "campaigns"
_PATTERN = "*?["


def _assert_scenario(value: str) -> None:
    names = scenarios()
    if any(sign in value for sign in _PATTERN):
        if not any(fnmatchcase(name, value) for name in names):
            raise ValueError(f"`{value}` matches no scenario; `fencepost list scenarios` has them all")
    elif value not in names:
        raise ValueError(unknown("scenario", value, names, listing="fencepost list scenarios"))


Scenario = Annotated[str, checked(_assert_scenario)]


class Runs(Params):
    """Each scenario in each mode on each release with each value of each parameter, for every seed.

    ``scenarios`` are names or patterns of names (``closing/*``), less ``without``. No ``modes`` means those
    of each plan, no ``versions`` the plan's own. ``known_defects`` says whether a mode runs in which a plan
    states a known defect of BookKeeper, as a ``defect`` or as a ``decides`` with a ``reference``. ``seeds``
    counts from 1. ``set`` is parameter -> values; a plan that does not have the parameter is run without it.
    ``controls`` adds the plans' controls that need a separate run, where ``versions`` and ``set`` are left
    out.
    """

    scenarios: tuple[Scenario, ...] = Field(min_length=1)
    without: tuple[Scenario, ...] = ()
    modes: tuple[AnyMode, ...] = ()
    versions: tuple[Version, ...] = ()
    known_defects: Literal["also", "only", "without"] = "also"
    seeds: int = Field(default=1, ge=1)
    settings: dict[str, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(
        default_factory=dict, alias="set"
    )
    rounds: int | None = Field(default=None, ge=1)
    controls: bool = True

    def names(self) -> tuple[str, ...]:
        """The selected scenarios, sorted by where they are named, each once."""
        found = (name for wanted in self.scenarios for name in scenarios() if fnmatchcase(name, wanted))
        return tuple(
            name
            for name in dict.fromkeys(found)
            if not any(fnmatchcase(name, unwanted) for unwanted in self.without)
        )


class Explored(Params):
    """Plans that :mod:`plans.exploring` draws, one run each, from the seeds ``first_seed`` on.

    ``profile`` is a YAML file's path, relative to the campaign's file; None is the profile of
    ``fencepost explore``. What the machine lacks is left out of the plans, so root has others than a user.
    """

    runs: int = Field(ge=1, le=1000)
    first_seed: int = Field(default=1, ge=1)
    profile: Path | None = None


class CampaignLimits(Params):
    """Time limits in seconds: of the campaign (None: unlimited), and of one run, which is then ended."""

    total_s: float | None = Field(default=None, gt=0)
    run_s: float = Field(default=900, gt=0)


class Keep(Params):
    """Kept folders: of runs ``as_expected`` the first of each kind, all or none; and the last ``nights``."""

    as_expected: Literal["first", "all", "none"] = "first"
    nights: int = Field(default=14, ge=1)


class Campaign(Params):
    """The whole file: ``runs``, the cells of a ``matrix``, plans that are drawn (``explore``), or several.

    ``resume``: an unfinished campaign is continued. ``unfinished`` is the meaning of runs for which the
    time was too short: ``later`` (they run when it is resumed) or ``fail``. ``unknown_again`` is the number
    of retries of a run with an unknown verdict before it counts as not proven.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    about: str = ""
    runs: tuple[Runs, ...] = ()
    matrix: Matrix | None = None
    explore: Explored | None = None
    limits: CampaignLimits = Field(default_factory=CampaignLimits)
    resume: bool = True
    unfinished: Literal["later", "fail"] = "later"
    unknown_again: int = Field(default=1, ge=0, le=3)
    keep: Keep = Field(default_factory=Keep)


def campaigns() -> list[str]:
    """The names of the campaigns in the repository, sorted."""
    return sorted(path.stem for path in CAMPAIGNS.glob("*.yaml"))


def load_campaign(name_or_path: str) -> Campaign:
    """A campaign by its name or from a YAML file; ``PlanError`` lists everything that is wrong with it."""
    own = name_or_path.endswith((".yaml", ".yml"))
    path = Path(name_or_path) if own else CAMPAIGNS / f"{name_or_path}.yaml"
    if not path.is_file():
        absent = unknown("campaign", name_or_path, campaigns())
        raise PlanError(
            f"there is no campaign file {name_or_path}" if own else absent,
            remedy="a campaign of your own is given by its path, ending in .yaml",
        )
    campaign = modelled(parse_file(path, "campaign"), Campaign)
    if campaign.explore is None or campaign.explore.profile is None:
        return campaign
    beside = campaign.explore.model_copy(update={"profile": path.parent / campaign.explore.profile})
    return campaign.model_copy(update={"explore": beside})
