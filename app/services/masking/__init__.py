"""The masking rules of projects, and what they mask in spans, runs and replays."""
