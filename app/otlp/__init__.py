"""OTLP: decodes the exports of OpenTelemetry to spans and records, normalizes and masks them. Pure.

A batch is the body of one export. `decode.py` (JSON) and `decode_protobuf.py` make the same `Span` of it, or a
`Rejection` for each span that cannot be stored. `normalise/` reads the attributes of all conventions, and `masking.py`
replaces what the rules of a project name.
"""
