"""Decides what runs: pure functions from facts and `now` to decisions, without a clock or a store.

Reading order:

1. `model`: the values, such as Schedule, Run, Facts, Plan; `states` and `reasons`: their enums and
   state machines (`text_enum` and `fast_replace` are their technical base).
2. `plan`: which due slots become runs. `draft` collects the decision for one schedule;
   `slots_not_run` merges the slots that do not run into rows.
3. `settle`: what becomes of a run and its schedule after an attempt.
4. `operations`: what people request, such as edit, pause, run now, cancel.
5. `policies/`: one file for each policy that these three apply.
6. `definition/`: from the fields that a person writes to a `Specification`.
7. `as_json`: all these values as JSON.

Guarantees: the same facts and `now` give the same decision; every slot in (cursor, now] becomes a
run or is recorded in a row with a reason; the size of a plan is bounded, however long the outage.

This module exports the decisions and the values that they read and return. Details of one policy
are imported from its own module.
"""

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
from quarterjack.rules.policies.backfill import (
    backfill,
    count_backfill,
    count_slots_among,
    stop_backfill,
)
from quarterjack.rules.policies.retention import Retention
from quarterjack.rules.policies.service_limits import Limits, Outage
from quarterjack.rules.reasons import Reason
from quarterjack.rules.settle import settle, skip_orphan
from quarterjack.rules.states import OPEN, WAITING, State, Status
