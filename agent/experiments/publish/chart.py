"""The figures of an experiment, laid out as rectangles and texts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from agent.experiments.publish.drawing import INK, Format, Shape, one_line, text_width, write
from agent.experiments.publish.tables import (
    domain_name,
    is_clear,
    is_compared,
    is_evaluation,
    shown_domains,
)
from agent.models.builtin.install import BUILTIN_BASE_NAME, BUILTIN_NAME

_DRAWN = ("score", "pass_hat_k", "tokens_once", "largest_prompt", "generated_tokens",
          "total_seconds", "cost")  # fmt: skip
"""Keys of the rows that are drawn, in this order, if they are known."""

_WIDTH, _MARGIN, _ROW, _BAR = 960, 24, 26, 14
_LABEL, _BAR_END = 220, 760
_GAIN_LEFT, _GAIN_RIGHT = 260, 770
_MAX_LABEL, _MAX_TITLE = 32, 110
_MUTED, _BASE, _OTHER, _GRID = "#756d61", "#b9b2a5", "#1f6f5c", "#e7e2d8"
_MODELS = ("#1f6f5c", "#b3541e", "#3b5b92", "#8a4f7d", "#8a7a1f", "#4d4d4d")
"""A colour for each model; its members without a sandbox have a light one."""

_ONE_MODEL = {BUILTIN_BASE_NAME: BUILTIN_NAME}  # names of a model without a sandbox
_LIGHT = 0.55  # share of white in a light colour
_PANELS, _PANEL_WIDTH, _PANEL_HEIGHT, _AXIS = 3, 304, 190, 34
_TICKS = 4
_LEAST_GAIN = 0.05  # gains are drawn up to 5 points to both sides, or more
_GAIN_NOTE = (
    "Score minus the baseline’s, paired by task, with its 95 % interval; the score in brackets; "
    "n: pairs"
)
_SCORE_NOTE = (
    "Score in % with its 95 % interval; above it the gain over the same model without a sandbox "
    "in points, bold where its interval does not contain 0"
)
_ONLY_SCORES = "Score in % with its 95 % interval"
Figure = Literal["scores", "gains"]
Description = Mapping[str, Any]


def draw(description: Description, kind: Format, figure: Figure = "scores") -> bytes:
    """Return a figure of an experiment; of a comparison there is one."""
    if not is_evaluation(description):
        title = str(description["verdict"]["text"] or description["title"])
        detail, content = str(description["verdict"]["detail"]), list(_measures(description))
    elif figure == "gains":
        title = f"Gain over the baseline, in points: {description['title']}"
        detail, content = _GAIN_NOTE, list(_gains(description))
    else:
        title = f"Score by domain: {description['title']}"
        gains = any(each["gain"] is not None for each in description["results"][0]["members"])
        detail, content = _SCORE_NOTE if gains else _ONLY_SCORES, list(_scores(description))
    title, detail = one_line(title, _MAX_TITLE), one_line(detail, _MAX_TITLE + 40)
    shapes = [
        Shape("text", _MARGIN, 38, text=title, bold=True),
        Shape("text", _MARGIN, 60, colour=_MUTED, text=detail),
        *content,
    ]
    return write(shapes, _WIDTH, title, kind)


def _scores(description: Description) -> Iterator[Shape]:
    """Yield a panel for each domain, and the legend."""
    members = description["members"]
    colours = _colours(members)
    y = 84.0
    x = float(_MARGIN)
    for member, colour in zip(members, colours, strict=True):
        text = one_line(str(member["label"]), _MAX_LABEL)
        if x + text_width(text) + 18 > _WIDTH - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + 20
        yield Shape("rectangle", x, y, 12, 12, colour)
        yield Shape("text", x + 18, y + 11, text=text)
        x += text_width(text) + 40
    y += 32
    for at, domain in enumerate(shown_domains(description)):
        left = _MARGIN + (at % _PANELS) * _PANEL_WIDTH
        top = y + (at // _PANELS) * (_PANEL_HEIGHT + 74)
        yield Shape("text", left, top + 12, text=one_line(domain_name(domain), 38), bold=True)
        shown = [
            result if is_compared(member, members) else result | {"gain": None}
            for result, member in zip(domain["members"], members, strict=True)
        ]
        yield from _panel(shown, colours, left, top + 44)


def _panel(
    results: Sequence[Mapping[str, Any]], colours: Sequence[str], left: float, top: float
) -> Iterator[Shape]:
    """Yield the bars of a domain between 0 and 100 %."""
    bottom, inner = top + _PANEL_HEIGHT, _PANEL_WIDTH - _AXIS - 20
    for tick in range(0, 101, 25):
        y = bottom - _PANEL_HEIGHT * tick / 100
        yield Shape("rectangle", left + _AXIS, y - 0.5, inner, 1, INK if not tick else _GRID)
        yield Shape("text", left + 4, y + 4, colour=_MUTED, text=str(tick), size=11)
    step = inner / len(results)
    bar = min(44.0, 0.78 * step)
    for at, (result, colour) in enumerate(zip(results, colours, strict=True)):
        middle = left + _AXIS + step * (at + 0.5)
        score = result["score"]
        if score is None:
            yield Shape("text", middle, bottom - 6, colour=_MUTED, text="–", anchor="middle")
            continue
        height = _PANEL_HEIGHT * score
        yield Shape("rectangle", middle - bar / 2, bottom - height, bar, height, colour)
        high = score if result["high"] is None else result["high"]
        if result["low"] is not None:
            yield from _upright(middle, bottom - _PANEL_HEIGHT * result["low"],
                                bottom - _PANEL_HEIGHT * high)  # fmt: skip
        if step < 18:
            continue  # no room for texts
        size = 11 if step >= 34 else 8
        y = bottom - _PANEL_HEIGHT * high - 5
        yield Shape("text", middle, y, text=f"{100 * score:.1f}", size=size, anchor="middle")
        if result["gain"] is not None:
            gain = result["gain"]
            yield Shape("text", middle, y - size - 2, text=f"{100 * gain:+.1f}", size=size,
                        bold=is_clear(result), colour=_OTHER if gain >= 0 else "#a33a2a",
                        anchor="middle")  # fmt: skip


def _upright(x: float, bottom: float, top: float) -> Iterator[Shape]:
    yield Shape("rectangle", x - 0.75, top, 1.5, max(1.0, bottom - top))
    for y in (bottom, top):
        yield Shape("rectangle", x - 4, y - 0.75, 8, 1.5)


def _colours(members: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a colour for each member: one for its model, light without a sandbox."""
    names = [_ONE_MODEL.get(member["model"], str(member["model"])) for member in members]
    models = list(dict.fromkeys(names))
    found = []
    for member, name in zip(members, names, strict=True):
        colour = _MODELS[models.index(name) % len(_MODELS)]
        found.append(_lighter(colour) if member["mode"] == "plain" else colour)
    return found


def _lighter(colour: str) -> str:
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * _LIGHT):02x}" for part in parts)


def _measures(description: Description) -> Iterator[Shape]:
    known = {
        row["key"]: row | {"label": f"{group['title']} · {row['label']}"}
        for group in description["table"]
        for row in group["rows"]
    }
    y = 78.0
    for row in (known[key] for key in _DRAWN if key in known):
        largest = max(map(_end_of, row["cells"]))
        if largest <= 0:
            continue
        yield Shape("text", _MARGIN, y + 16, text=row["label"], bold=True)
        y += 34
        scale = (_BAR_END - _LABEL) / largest
        for member, cell in zip(description["members"], row["cells"], strict=True):
            yield _label(member, y)
            if cell["value"] is not None:
                colour = _BASE if member["index"] == description["baseline"] else _OTHER
                width = max(1.0, cell["value"] * scale)
                yield Shape("rectangle", _LABEL, y, width, _BAR, colour)
            low, high = cell["low"], cell["high"]
            if low is not None and high is not None and high > low:
                yield from _whisker(_LABEL + max(0.0, low) * scale, _LABEL + high * scale, y)
            count = f" · n = {cell['n']}" if cell["n"] > 1 else ""
            text = one_line(f"{cell['text']}{count}", 30)
            yield Shape("text", _LABEL + _end_of(cell) * scale + 8, y + 12, text=text)
            y += _ROW
        y += 10


def _gains(description: Description) -> Iterator[Shape]:
    domains = shown_domains(description)
    names = ("gain", "gainLow", "gainHigh")
    cells = [cell for domain in domains for cell in domain["members"]]
    most = max([_LEAST_GAIN, *(abs(cell[name] or 0.0) for cell in cells for name in names)])
    scale, middle = (_GAIN_RIGHT - _GAIN_LEFT) / 2 / most, (_GAIN_LEFT + _GAIN_RIGHT) / 2
    rows, y = list[Shape](), 84.0
    for domain in domains:
        rows.append(Shape("text", _MARGIN, y + 14, text=domain_name(domain), bold=True))
        y += _ROW
        for cell in domain["members"]:
            if cell["member"] != cell["baseline"]:
                rows.append(_label(description["members"][cell["member"]], y))
                rows += _gain(cell, y, middle, scale)
                y += _ROW
        y += 14
    for tick in range(-_TICKS // 2, _TICKS // 2 + 1):
        value = most * tick / (_TICKS / 2)
        x, colour = middle + value * scale, _GRID if tick else INK
        yield Shape("rectangle", x - 0.5, 78, 1, y - 78, colour)
        yield Shape("text", x - 14, y + 18, colour=_MUTED, text=f"{100 * value:+.1f}")
    yield from rows


def _gain(cell: Mapping[str, Any], y: float, middle: float, scale: float) -> Iterator[Shape]:
    gain, low, high = cell["gain"], cell["gainLow"], cell["gainHigh"]
    end = _GAIN_RIGHT + 12
    if gain is None:
        yield Shape("text", end, y + 12, colour=_MUTED, text="no pairs yet")
        return
    colour, left = _OTHER if gain >= 0 else _BASE, middle + min(0.0, gain) * scale
    yield Shape("rectangle", left, y, max(1.0, abs(gain) * scale), _BAR, colour)
    if low is not None and high is not None:
        yield from _whisker(middle + low * scale, middle + high * scale, y)
    text = f"{100 * gain:+.1f} ({100 * cell['score']:.1f} %), n = {cell['pairs']}"
    yield Shape("text", end, y + 12, text=one_line(text, 30))


def _label(member: Mapping[str, Any], y: float) -> Shape:
    text = one_line(str(member["label"]), _MAX_LABEL)
    return Shape("text", _MARGIN, y + 12, colour=_MUTED, text=text)


def _whisker(left: float, right: float, top: float) -> Iterator[Shape]:
    middle = top + _BAR / 2
    yield Shape("rectangle", left, middle - 0.75, right - left, 1.5)
    for x in (left, right):
        yield Shape("rectangle", x - 0.75, middle - 4, 1.5, 8)


def _end_of(cell: Mapping[str, Any]) -> float:
    return max(cell["value"] or 0.0, cell["high"] or 0.0)
