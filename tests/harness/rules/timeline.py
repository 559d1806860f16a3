"""Timelines: what the rules decide, drawn. The documents show them, and the suite draws them anew.

A timeline begins with lines `field: value`. Most are fields of a schedule; these are directives:

    until   when the drawing ends             work    how long each attempt takes (2m)
    asleep  when nobody plans or works        fails   how many attempts fail before one succeeds
    do      what people do, at which minute   count   how many such schedules there are
    limits  service limits

The drawing has one column for each minute from 08:00 on. A run waits (.), is held (:), runs (#); a
failed attempt ends with x. Slots passed over are told by a letter below them.

`PYTHONPATH=tests python -m harness.rules.timeline docs/policies.md` draws all of a page anew.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.rules.world import World, at
from quarterjack.rules import Limits, Reason, Run, State
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.times import slots_between
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import MINUTE

START = at("08:00")
MARKS = {State.HELD: ":", State.QUEUED: ".", State.RUNNING: "#"}
NAME = 10


@dataclass
class Story:
    """What happens in a timeline."""

    fields: dict[str, Any]
    until: int = START + 50 * MINUTE
    work: int = 2 * MINUTE
    asleep: list[tuple[int, int]] = field(default_factory=list)
    fails: int = 0
    do: dict[int, str] = field(default_factory=dict)
    count: int = 1
    limits: Limits = field(default_factory=Limits)


def read(lines: list[str]) -> Story:
    story = Story({})
    for line in lines:
        name, _, text = line.partition(":")
        text = text.strip()
        if name == "until":
            story.until = at(text)
        elif name == "work":
            story.work = read_duration(text, "work")
        elif name == "asleep":
            spans = [span.split("-") for span in text.split(", ")]
            story.asleep = [(at(begin), at(end)) for begin, end in spans]
        elif name == "do":
            deeds = [deed.split(" ", 1) for deed in text.split(", ")]
            story.do = {at(when): what for when, what in deeds}
        elif name in ("fails", "count"):
            setattr(story, name, int(text))
        elif name == "limits":
            story.limits = Limits(**literal_eval(text))
        else:
            story.fields[name] = _value(text)
    return story


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
    """The world of a story, minute by minute, and what was seen of it."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.world = World(limits=story.limits)
        for number in range(story.count):
            self.world.add(key=f"s{number + 1}", **story.fields)
        self.marks: dict[str, dict[int, str]] = {}
        self.failures: dict[int, int] = {}
        self.awake: list[bool] = []

    def live(self) -> None:
        minute = START
        last_look = START
        while minute <= self.story.until:
            self.world.go(minute)
            awake = not any(begin <= minute < end for begin, end in self.story.asleep)
            if awake:
                if minute - last_look > MINUTE:
                    self.world.start_planner(last_look)
                last_look = minute
                self._minute()
            self._look(minute)
            self.awake.append(awake)
            minute += MINUTE

    def _minute(self) -> None:
        """What is over ends, people act, what is due is planned, what is ready starts."""
        world = self.world
        for run in list(world.runs.values()):
            if run.state is not State.RUNNING:
                continue
            if run.cancel is not None:
                world.end(run.id, "cancelled")
            elif world.now - (run.started_at or 0) >= self.story.work:
                self._end(run)
        deed = self.story.do.get(world.now)
        if deed is not None:
            for identity in list(world.schedules):
                self._do(deed, identity)
        world.step()
        world.claim()

    def _do(self, deed: str, identity: int) -> None:
        world = self.world
        verb, _, rest = deed.partition(" ")
        name, _, value = rest.partition(" ")
        deeds: dict[str, Callable[[], object]] = {
            "pause": lambda: world.pause(identity),
            "resume": lambda: world.resume(identity),
            "run": lambda: world.run_now(identity),
            "backfill": lambda: world.backfill(identity, *rest.split("-")),
            "edit": lambda: world.edit(identity, **(self.story.fields | {name: _value(value)})),
            "lose": lambda: world.end(world.open(identity)[0].id, "lost"),
        }
        deeds[verb]()

    def _end(self, run: Run) -> None:
        failed = self.failures.get(run.schedule_id, 0)
        if failed < self.story.fails:
            self.failures[run.schedule_id] = failed + 1
            self.marks[run.id][self.world.now - MINUTE] = "x"
            self.world.end(run.id, "failed", error="boom")
        else:
            self.world.end(run.id, "succeeded")

    def _look(self, minute: int) -> None:
        for run in self.world.runs.values():
            marks = self.marks.setdefault(run.id, {})
            if run.state in MARKS:
                marks[minute] = MARKS[run.state]

    def lines(self) -> list[str]:
        self.live()
        minutes = range(START, self.story.until + 1, MINUTE)
        rows = dict(sorted(self.world.not_run.items()))
        letters = _letters([row.reason for row in rows.values()])
        not_run: dict[int, dict[int, str]] = {}
        for (owner, first), row in rows.items():
            slots = _slots(self.world, owner, first, row.last)
            not_run.setdefault(owner, {}).update(dict.fromkeys(slots, letters[row.reason]))
        ruler = "".join(
            f"{(m // MINUTE) % 1440 // 60:02}:{(m // MINUTE) % 60:02}".ljust(10)
            for m in minutes
            if (m - START) % (10 * MINUTE) == 0
        )
        told = [f"{'':{NAME}}{ruler}"]
        if self.story.asleep:
            told.append(f"{'engine':{NAME}}" + "".join("=" if up else " " for up in self.awake))
        owners = sorted(self.world.schedules | self.world.deleted)
        for owner in owners:
            prefix = f"s{owner} " if len(owners) > 1 else ""
            for run in [r for r in self.world.runs.values() if r.schedule_id == owner]:
                told.append(_row(f"{prefix}run {run.number}", minutes, self.marks[run.id], run))
            if owner in not_run:
                told.append(_row(f"{prefix}passed", minutes, not_run[owner], None))
        told += [f"{'':{NAME}}{letter} = {reason}" for reason, letter in _meanings(rows, letters)]
        schedule = (self.world.schedules | self.world.deleted)[owners[0]]
        if schedule.status != "active" and len(owners) == 1:
            why = f": {schedule.status_reason}" if schedule.status_reason else ""
            gone = " (deleted)" if owners[0] in self.world.deleted else ""
            told.append(f"{'':{NAME}}the schedule is {schedule.status}{why}{gone}")
        return [line.rstrip() for line in told]


def _slots(world: World, owner: int, first: int, last: int) -> list[int]:
    schedule = (world.schedules | world.deleted)[owner]
    if schedule.specification.completion:
        return [first]
    return list(slots_between(slots_of(schedule), first - 1, last))


def _row(name: str, minutes: range, marks: dict[int, str], run: Run | None) -> str:
    drawn = "".join(marks.get(minute, " ") for minute in minutes)
    told = ""
    if run is not None:
        told = f"  {run.state}: {run.reason}" if run.reason else f"  {run.state}"
    return f"{name:{NAME}}{drawn}{told}"


def _letters(reasons: list[Reason]) -> dict[Reason, str]:
    """A letter for each: its first, or another if that is taken."""
    letters: dict[Reason, str] = {}
    for reason in reasons:
        if reason not in letters:
            free = [letter for letter in reason if letter not in letters.values()]
            letters[reason] = free[0]
    return letters


def _meanings(rows: dict[Any, Any], letters: dict[Reason, str]) -> list[tuple[str, str]]:
    states = {row.reason: row.state for row in rows.values()}
    return [(f"{states[reason]}: {reason}", letter) for reason, letter in letters.items()]


def drawn(text: str) -> str:
    """The timeline of a block: its lines `field: value`, an empty line, and the drawing."""
    head = text.split("\n\n", 1)[0].splitlines()
    return "\n".join([*head, "", *Drawing(read(head)).lines()])


def redraw(file: Path) -> None:
    """Draw every timeline of a document anew."""
    blocks = re.compile(r"(```timeline\n)(.*?)(\n```)", re.DOTALL)
    text = blocks.sub(lambda found: found[1] + drawn(found[2]) + found[3], file.read_text())
    file.write_text(text)


if __name__ == "__main__":
    redraw(Path(sys.argv[1]))
