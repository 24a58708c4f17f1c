"""TeX formulas as MathML, or as source if the conversion fails."""

from html import escape

from latex2mathml.converter import convert

MAX_TEX_LENGTH = 4000

_TAGS = (
    "math mrow mi mo mn ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder "
    "munderover mtable mtr mtd mstyle mpadded mphantom menclose mmultiscripts mprescripts none"
)
_ATTRIBUTES = (
    "display displaystyle scriptlevel mathvariant mathcolor mathsize stretchy fence separator "
    "form accent accentunder largeop movablelimits symmetric lspace rspace minsize maxsize "
    "linethickness columnalign columnspacing columnlines rowspacing rowlines notation width "
    "height depth voffset"
)
TAGS = frozenset(_TAGS.split())
ATTRIBUTES = frozenset(_ATTRIBUTES.split())


def render_formula(tex: str, *, block: bool) -> str:
    """Render a TeX formula without delimiters as HTML, in display style if ``block``."""
    plain = tex.strip()
    if len(plain) <= MAX_TEX_LENGTH:
        try:
            return convert(plain, display="block" if block else "inline")
        except Exception:  # noqa: BLE001 - the boundary: a library that fails in its own ways
            pass
    return f'<code class="tex">{escape(plain)}</code>'
