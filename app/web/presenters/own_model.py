"""The form for a model of one's own, read."""

from __future__ import annotations

from app.errors import Invalid
from app.services.language_models.own_models import OwnModel
from app.web.forms import Form

WORDS = {
    "prompt_price": "Input price",
    "completion_price": "Output price",
    "context": "Context",
    "completion": "Longest answer",
}


def own_model(form: Form) -> OwnModel:
    return OwnModel(
        name=form.text("name").strip(),
        base_url=form.text("base_url").strip().rstrip("/"),
        prompt_price=_number(form, "prompt_price"),
        completion_price=_number(form, "completion_price"),
        context_tokens_max=int(_number(form, "context")),
        completion_tokens_max=int(_number(form, "completion")),
        description=form.text("description").strip(),
    )


def _number(form: Form, name: str) -> float:
    """Infinity and what is no number are refused here: `int` would not take them."""
    try:
        number = float(form.text(name).replace(",", ""))
        int(number)
    except (ValueError, OverflowError):
        raise Invalid(f"{WORDS[name]}: Must be a number.") from None
    return number
