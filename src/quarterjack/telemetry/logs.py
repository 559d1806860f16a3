"""Logging: one line for each thing that happened, with `key=value` fields after the message."""

from __future__ import annotations

import logging
import sys

log = logging.getLogger("quarterjack")


def log_fields(**facts: object) -> str:
    """`run=42-7 attempt=2`; fields that are None are omitted."""
    return " ".join(
        f"{name}={_quoted(value)}" for name, value in facts.items() if value is not None
    )


def _quoted(value: object) -> str:
    """Quoted and escaped unless it is one printable word."""
    text = str(value)
    is_word = text.isprintable() and not any(letter in text for letter in ' "=')
    return text if is_word and text else repr(text)


def configure_logging(level: str) -> None:
    """Log to standard error, from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    log.handlers[:] = [handler]
    log.setLevel(level.upper())
    log.propagate = False
