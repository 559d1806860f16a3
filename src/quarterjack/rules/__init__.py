"""SHOULD. From facts and `now` to a decision. Pure: values in, values out, no clock, no store.

Read `model` (the values) with `states` and `reasons`, then `plan` (which due slots become runs)
with `draft`, and `settle` (what becomes of a run after an attempt). Each policy has one file:
`catch_up`, `windows`, `overlap`, `gate` (breaker and polls), `retry`, `execution`, `repeats`,
`anchors`, `first_run`, `pause`, `limits`, `backfill`, `passing`, `retention`. `operations` says
what a person may ask. `validation` makes a `specification` from what a person wrote, with
`fields`, `target`, `plain`, `presets` and `combinations`; `amending` says some of it anew, and
`house_rules` is what all of them share. `forms` writes values as JSON; `words`
are closed lists.

Promised: the same facts and `now` give the same decision; every slot in (cursor, now] becomes a run
or lies in a row with a reason; no plan is longer than its bounds, however long the outage.
"""

from quarterjack.rules.as_json import to_json
from quarterjack.rules.definition.presets import AS_A_SETTING, PRESETS
from quarterjack.rules.definition.service_settings import ServiceSettings
from quarterjack.rules.definition.specification import Specification, Unreadable
from quarterjack.rules.definition.validation import read_specification
from quarterjack.rules.model import (
    Attempt,
    Backfill,
    DoneSlots,
    Ended,
    Ending,
    Facts,
    Gate,
    GateChange,
    GateState,
    Kind,
    Outcome,
    Plan,
    Plans,
    Run,
    Schedule,
    Settlement,
    Settlements,
    SlotsNotRun,
)
from quarterjack.rules.operations import (
    cancel_run,
    create,
    delete,
    edit,
    invalidate,
    pause,
    resume,
    retry_run,
    run_now,
)
from quarterjack.rules.plan import plan
from quarterjack.rules.policies.backfill import backfill, count_backfill, count_named, stop_backfill
from quarterjack.rules.policies.budgets import with_outage_until
from quarterjack.rules.policies.limits import (
    AGENT_LIMITS,
    LOOK_NOTED_AFTER,
    Budgets,
    Limits,
    Outage,
    Pace,
    active_max,
    may_notice_outage,
    next_look,
    noticed_outage,
    outage_at_start,
    read_limits,
)
from quarterjack.rules.policies.retention import (
    Horizons,
    PastRun,
    Retention,
    horizons,
    may_be_pruned,
)
from quarterjack.rules.reasons import Reason
from quarterjack.rules.settle import settle
from quarterjack.rules.states import OPEN, WAITING, RunEvent, ScheduleEvent, State, Status

__all__ = [
    "AGENT_LIMITS",
    "AS_A_SETTING",
    "Attempt",
    "Backfill",
    "Budgets",
    "DoneSlots",
    "Ended",
    "Ending",
    "Facts",
    "Gate",
    "GateChange",
    "GateState",
    "Horizons",
    "Kind",
    "LOOK_NOTED_AFTER",
    "Limits",
    "OPEN",
    "Outage",
    "Outcome",
    "PRESETS",
    "Pace",
    "SlotsNotRun",
    "PastRun",
    "Plan",
    "Plans",
    "Reason",
    "Retention",
    "Run",
    "RunEvent",
    "Schedule",
    "ScheduleEvent",
    "ServiceSettings",
    "Settlement",
    "Settlements",
    "Specification",
    "State",
    "Status",
    "Unreadable",
    "WAITING",
    "active_max",
    "backfill",
    "cancel_run",
    "count_backfill",
    "count_named",
    "create",
    "delete",
    "edit",
    "horizons",
    "invalidate",
    "may_be_pruned",
    "may_notice_outage",
    "next_look",
    "noticed_outage",
    "outage_at_start",
    "with_outage_until",
    "pause",
    "plan",
    "read_limits",
    "read_specification",
    "resume",
    "retry_run",
    "run_now",
    "settle",
    "stop_backfill",
    "to_json",
]
