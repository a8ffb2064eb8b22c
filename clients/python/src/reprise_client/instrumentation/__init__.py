"""Sends what an agent does to Reprise: the spans of instrumentations, and what is recorded by hand.

from reprise_client.instrumentation import conversation, instrument, tool, turn

instrument(prompt=17)
with conversation("c-1", user="u-1"), turn("Where is my order?") as this:
    this.answer("It is on its way.")
"""

from __future__ import annotations

try:
    from reprise_client.instrumentation.recording import RenderedPrompt, conversation, turn
    from reprise_client.instrumentation.setting_up import Instrumentation, instrument
    from reprise_client.instrumentation.spool import Limits
    from reprise_client.instrumentation.tools import ToolCall, tool
except ModuleNotFoundError as missing:
    if not str(missing.name).startswith("opentelemetry"):
        raise
    from reprise_client.errors import how_to_install

    raise ImportError(f"Spans need OpenTelemetry: {how_to_install('instrument')}") from missing

__all__ = ["Instrumentation", "Limits", "RenderedPrompt", "ToolCall", "conversation", "instrument", "tool", "turn"]
