"""From the fields that a person writes to a `Specification`, with all problems reported at once.

Reading order: `specification` (the result), `validation` (how it is read: defaults, presets and own
fields in layers), `fields` and `target` (one field each), `combinations` (fields that exclude each
other), `presets` (the tables of defaults), `input_checks` (what all text and JSON must satisfy),
`patch` (an edit of some fields), `service_settings` (what all schedules of a service share).

Guarantees: whatever `Specification.to_json` writes, `read_specification` reads again, in this and
later versions, as an equal specification; whether a definition is valid does not depend on the
current time, except that a new one must have a slot that its window admits.
"""
