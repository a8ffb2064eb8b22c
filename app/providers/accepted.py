"""What the models of each vendor accept in a configuration, checked when a prompt is saved.

A request has what the configuration has. A value that no request to the model can have, or that its vendor refuses in
every request, is refused here, so that it is not found by the first run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import Invalid
from app.providers.types import ModelConfig, ModelRef, ModelRequest
from app.providers.vendors import VENDORS, VendorProfile
from app.providers.wires import wire_of


def check(model: ModelRef, details: Mapping[str, Any], config: ModelConfig) -> None:
    """Raise `Invalid`, naming the key, for a value that the model does not accept.

    `details` are the catalogue's further fields of the model, none for an organization's own.
    """
    if model.vendor not in VENDORS:
        return
    vendor = VENDORS[model.vendor]
    for problems in (_of_vendor(model, vendor, config), _of_model(model, details, config)):
        if problem := next(problems, None):
            key, reason = problem
            raise Invalid(f"languageModelConfig.{key}: {reason}")
    # Building the body of a request raises `Invalid` for what no request can have.
    wire_of(request := ModelRequest(model, config, (), None, 0.0)).body(request, streamed=False)


def _of_vendor(model: ModelRef, vendor: VendorProfile, config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Yield the first key that no model of the vendor accepts, with the reason."""
    low, high = vendor.seeds
    if config.seed is not None and vendor.accepts_seed and not low <= config.seed <= high:
        yield "seed", f"{model.vendor} models accept {low} to {high}."
    if len(config.stop) > vendor.stops_max:
        yield "stop", f"{model.vendor} models accept at most {vendor.stops_max}."
    for index, stop in enumerate(config.stop):
        if not vendor.blank_stops and not stop.strip():
            yield f"stop.{index}", f"{model.vendor} models accept no text without a visible character."
    for index, tool in enumerate(config.tools):
        if vendor.tool_name and not re.fullmatch(vendor.tool_name, tool.name):
            yield f"tools.{index}.name", f"{model.vendor} models accept names of the form {vendor.tool_name}."
    if vendor.strict_for_all_tools and len({bool(tool.strict) for tool in config.tools}) > 1:
        index = next(index for index, tool in enumerate(config.tools) if tool.strict)
        yield f"tools.{index}.strict", f"{model.vendor} models are held to the parameters of all tools, or of none."


def _of_model(model: ModelRef, details: Mapping[str, Any], config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Yield the first key that the model does not accept, with the reason."""
    refused, efforts = details.get("refuses") or (), details.get("efforts") or ()
    for key in ("top_p", "stop", "seed"):
        if key in refused and getattr(config, key) not in (None, ()):
            yield key, f"{model.name} does not accept it."
    if "temperature with top_p" in refused and None not in (config.temperature, config.top_p):
        yield "top_p", f"{model.name} accepts either temperature or top_p."
    effort = config.reasoning_effort
    if "top_p with reasoning" in refused and config.top_p is not None and effort != "none":
        yield "top_p", f"{model.name} accepts it only with reasoning_effort none."
    if effort is None:
        return
    capabilities = details.get("capabilities")
    if capabilities is not None and "reasoning" not in capabilities:
        yield "reasoning_effort", f"{model.name} does not reason."
    if efforts and effort not in efforts:
        yield "reasoning_effort", f"{model.name} accepts {', '.join(efforts)}."
