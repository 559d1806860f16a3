"""`http`: a request to a URL."""

from __future__ import annotations

from quarterjack.rules.definition.target import MAPPING, TargetKind

KIND = TargetKind("http", "http: {method: POST, url: https://example.org}", {"http": MAPPING})
