"""Logs: how a process speaks. One line for each thing that happened, `key=value` after the words,
so that people and programs can read it."""

from __future__ import annotations

import logging
import sys

log = logging.getLogger("quarterjack")


def log_fields(**facts: object) -> str:
    """`run=42-7 attempt=2`; what is None is left out."""
    return " ".join(f"{name}={_text(value)}" for name, value in facts.items() if value is not None)


def _text(value: object) -> str:
    """On one line, whatever it holds; quoted where it would not be read as one."""
    text = str(value)
    plain = text.isprintable() and not any(letter in text for letter in ' "=')
    return text if plain and text else repr(text)


def configure_logging(level: str) -> None:
    """Log to standard error, from this level on."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    log.handlers[:] = [lines]
    log.setLevel(level.upper())
    log.propagate = False
