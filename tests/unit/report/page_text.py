"""Reads a page as a browser's parser would, so far as the tests need it."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "br", "img", "wbr"}


class Page(HTMLParser):
    """All elements with their attributes, the text of each, and whether every tag has its end."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        """Of the element at the same place, its descendants' included."""
        self._open: list[int] = []
        self.unbalanced: list[str] = []
        self.comments: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in _VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self.elements[self._open.pop()][0] != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.texts[index] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str, **attributes: str) -> list[str]:
        """Texts of the elements of this name that have these attributes; `_` stands for `-`, and ends a keyword."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            text
            for (name, found), text in zip(self.elements, self.texts)
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]

    def values(self, attribute: str) -> list[str | None]:
        return [found[attribute] for _, found in self.elements if attribute in found]
