"""Draws what the rules decide as timelines. The tests compare them with those in the documentation.

A timeline begins with lines `field: value`. Most are fields of a schedule; these are directives:

    until   when the drawing ends             work    how long each attempt takes (2m)
    down    when nothing plans or works       fails   how many attempts fail before one succeeds
    do      operations, and their minute      count   the number of such schedules
    limits  service limits

The drawing has one column for each minute from 08:00 on. A run is queued (.), held (:) or running
(#); a failed attempt ends with x. Slots that did not run are marked by a letter below the runs.

`PYTHONPATH=tests python -m harness.rules.timeline docs/policies.md` draws a whole page again.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Limits, Reason, Run, State
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.times import slots_between
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import MINUTE

START = at("08:00")
MARKS = {State.HELD: ":", State.QUEUED: ".", State.RUNNING: "#"}
NAME_WIDTH = 12


@dataclass
class Scenario:
    """What happens in a timeline."""

    fields: dict[str, Any]
    until: int = START + 50 * MINUTE
    work: int = 2 * MINUTE
    down: list[tuple[int, int]] = field(default_factory=list)
    fails: int = 0
    do: dict[int, str] = field(default_factory=dict)
    count: int = 1
    limits: Limits = field(default_factory=Limits)


def read(lines: list[str]) -> Scenario:
    scenario = Scenario({})
    for line in lines:
        name, _, text = line.partition(":")
        text = text.strip()
        if name == "until":
            scenario.until = at(text)
        elif name == "work":
            scenario.work = read_duration(text, "work")
        elif name == "down":
            spans = [span.split("-") for span in text.split(", ")]
            scenario.down = [(at(begin), at(end)) for begin, end in spans]
        elif name == "do":
            operations = [operation.split(" ", 1) for operation in text.split(", ")]
            scenario.do = {at(when): what for when, what in operations}
        elif name in ("fails", "count"):
            setattr(scenario, name, int(text))
        elif name == "limits":
            scenario.limits = Limits(**literal_eval(text))
        else:
            scenario.fields[name] = _value(text)
    return scenario


def _value(text: str) -> Any:
    """A number, a list, a mapping, true or false; else the text itself."""
    try:
        return {"true": True, "false": False}[text]
    except KeyError:
        pass
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Drawing:
    """Runs the service of a scenario minute by minute, and records the states of its runs."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.service = InMemoryService(limits=scenario.limits)
        for number in range(scenario.count):
            self.service.add(key=f"s{number + 1}", **scenario.fields)
        self.marks: dict[str, dict[int, str]] = {}
        self.failures: dict[int, int] = {}
        self.alive: list[bool] = []

    def run(self) -> None:
        minute = START
        last_step_at = START
        while minute <= self.scenario.until:
            self.service.advance_to(minute)
            alive = not any(begin <= minute < end for begin, end in self.scenario.down)
            if alive:
                if minute - last_step_at > MINUTE:
                    self.service.start_planner(last_step_at)
                last_step_at = minute
                self._run_minute()
            self._mark(minute)
            self.alive.append(alive)
            minute += MINUTE

    def _run_minute(self) -> None:
        """Ends finished attempts, runs operations, plans due schedules and claims ready runs."""
        service = self.service
        for run in list(service.runs.values()):
            if run.state is not State.RUNNING:
                continue
            if run.cancel is not None:
                service.finish(run.id, "cancelled")
            elif service.now - (run.started_at or 0) >= self.scenario.work:
                self._end(run)
        operation = self.scenario.do.get(service.now)
        if operation is not None:
            for identity in list(service.schedules):
                self._operate(operation, identity)
        service.plan_due()
        service.claim()

    def _operate(self, operation: str, identity: int) -> None:
        service = self.service
        verb, _, rest = operation.partition(" ")
        name, _, value = rest.partition(" ")
        operations: dict[str, Callable[[], object]] = {
            "pause": lambda: service.pause(identity),
            "resume": lambda: service.resume(identity),
            "run": lambda: service.run_now(identity),
            "backfill": lambda: service.backfill(identity, *rest.split("-")),
            "edit": lambda: service.edit(
                identity, **(self.scenario.fields | {name: _value(value)})
            ),
            "lose": lambda: service.finish(service.open_runs(identity)[0].id, "lost"),
        }
        operations[verb]()

    def _end(self, run: Run) -> None:
        failed = self.failures.get(run.schedule_id, 0)
        if failed < self.scenario.fails:
            self.failures[run.schedule_id] = failed + 1
            self.marks[run.id][self.service.now - MINUTE] = "x"
            self.service.finish(run.id, "failed", error="boom")
        else:
            self.service.finish(run.id, "succeeded")

    def _mark(self, minute: int) -> None:
        for run in self.service.runs.values():
            marks = self.marks.setdefault(run.id, {})
            if run.state in MARKS:
                marks[minute] = MARKS[run.state]

    def lines(self) -> list[str]:
        self.run()
        minutes = range(START, self.scenario.until + 1, MINUTE)
        rows = dict(sorted(self.service.not_run.items()))
        letters = _letters([row.reason for row in rows.values()])
        not_run: dict[int, dict[int, str]] = {}
        for (owner, first), row in rows.items():
            slots = _slots(self.service, owner, first, row.last)
            not_run.setdefault(owner, {}).update(dict.fromkeys(slots, letters[row.reason]))
        ruler = "".join(
            f"{(m // MINUTE) % 1440 // 60:02}:{(m // MINUTE) % 60:02}".ljust(10)
            for m in minutes
            if (m - START) % (10 * MINUTE) == 0
        )
        lines = [f"{'':{NAME_WIDTH}}{ruler}"]
        if self.scenario.down:
            lines.append(
                f"{'service':{NAME_WIDTH}}" + "".join("=" if up else " " for up in self.alive)
            )
        owners = sorted(self.service.schedules | self.service.deleted)
        for owner in owners:
            prefix = f"s{owner} " if len(owners) > 1 else ""
            for run in [r for r in self.service.runs.values() if r.schedule_id == owner]:
                lines.append(_row(f"{prefix}run {run.number}", minutes, self.marks[run.id], run))
            if owner in not_run:
                lines.append(_row(f"{prefix}not run", minutes, not_run[owner], None))
        lines += [
            f"{'':{NAME_WIDTH}}{letter} = {reason}" for reason, letter in _legend(rows, letters)
        ]
        schedule = (self.service.schedules | self.service.deleted)[owners[0]]
        if schedule.status != "active" and len(owners) == 1:
            why = f": {schedule.status_reason}" if schedule.status_reason else ""
            gone = " (deleted)" if owners[0] in self.service.deleted else ""
            lines.append(f"{'':{NAME_WIDTH}}the schedule is {schedule.status}{why}{gone}")
        return [line.rstrip() for line in lines]


def _slots(service: InMemoryService, owner: int, first: int, last: int) -> list[int]:
    schedule = (service.schedules | service.deleted)[owner]
    if schedule.specification.completion:
        return [first]
    return list(slots_between(slots_of(schedule), first - 1, last))


def _row(name: str, minutes: range, marks: dict[int, str], run: Run | None) -> str:
    drawn = "".join(marks.get(minute, " ") for minute in minutes)
    state = ""
    if run is not None:
        state = f"  {run.state}: {run.reason}" if run.reason else f"  {run.state}"
    return f"{name:{NAME_WIDTH}}{drawn}{state}"


def _letters(reasons: list[Reason]) -> dict[Reason, str]:
    """A letter for each reason: its first one that is not used yet."""
    letters: dict[Reason, str] = {}
    for reason in reasons:
        if reason not in letters:
            free = [letter for letter in reason if letter not in letters.values()]
            letters[reason] = free[0]
    return letters


def _legend(rows: dict[Any, Any], letters: dict[Reason, str]) -> list[tuple[str, str]]:
    states = {row.reason: row.state for row in rows.values()}
    return [(f"{states[reason]}: {reason}", letter) for reason, letter in letters.items()]


def drawn(text: str) -> str:
    """The timeline of a block: its lines `field: value`, an empty line, and the drawing."""
    head = text.split("\n\n", 1)[0].splitlines()
    return "\n".join([*head, "", *Drawing(read(head)).lines()])


def redraw_page(file: Path) -> None:
    """Draws every timeline of a document again."""
    blocks = re.compile(r"(```timeline\n)(.*?)(\n```)", re.DOTALL)
    text = blocks.sub(lambda found: found[1] + drawn(found[2]) + found[3], file.read_text())
    file.write_text(text)


if __name__ == "__main__":
    redraw_page(Path(sys.argv[1]))
