"""Markup in which every value is escaped: the one place that writes tags.

A report shows texts from untrusted files. So a page is built of `Markup`, which
only the functions here make, and text becomes part of it by being escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Elements without content and end tag.
VOID = frozenset({"meta"})
NAME = re.compile(r"[a-z][A-Za-z0-9-]*\Z")


@dataclass(frozen=True)
class Markup:
    """A piece of a page, escaped already."""

    text: str


def element(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """<name attribute="value">content</name>.

    Attributes are written `class_`, `data_text` for class, data-text; None leaves one out, True
    gives its name alone. Those that hold a script or a style are refused: the policy of the page
    does not allow them.
    """
    given = "".join(attribute(key, value) for key, value in attributes.items())
    start = f"<{checked(name)}{given}>"
    return Markup(start if name in VOID else f"{start}{join(*content).text}</{name}>")


def attribute(name: str, value: Any) -> str:
    name = checked(name.rstrip("_").replace("_", "-"))
    if name.startswith("on") or name == "style":
        raise ValueError(f"The attribute {name} holds a script or a style; put it into the page's.")
    if value is None:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(readable(str(value)))}"'


def checked(name: str) -> str:
    if not NAME.match(name):
        raise ValueError(f"{name!r} is not the name of an element or an attribute.")
    return name


def join(*content: Any) -> Markup:
    """Pieces, and sequences of them, one after another; whatever is no Markup is escaped."""
    texts = []
    for piece in content:
        if isinstance(piece, Markup):
            texts.append(piece.text)
        elif isinstance(piece, list | tuple | Iterator):
            texts.append(join(*piece).text)
        else:
            texts.append(escape(readable(str(piece)), quote=False))
    return Markup("".join(texts))


def verbatim(name: str, text: str) -> Markup:
    """A style or script element; its text is a constant of ours, which nothing may end early."""
    if "</" in text or "<!" in text:
        raise ValueError(f"The text of the {name} has '</' or '<!' in it, which would end it.")
    return Markup(f"<{checked(name)}>{text}</{name}>")


def document(head: Markup, body: Markup) -> str:
    """A whole page."""
    root = element("html", element("head", head), "\n", element("body", "\n", body), lang="en")
    return f"<!DOCTYPE html>\n{root.text}\n"


def readable(text: str) -> str:
    """The text with U+FFFD for halves of characters, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def raise_exponents(content: Markup) -> Markup:
    """2^-7 with superscripts, for text that is not drawn."""
    return Markup(re.sub(r"\^(-?\d+)", lambda found: raised(found[1]), content.text))


def raised(digits: str) -> str:
    return digits.translate(SUPERSCRIPTS)
