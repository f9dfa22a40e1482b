"""Parts of a document that commands write.

    <!-- recorded: dense -->

    what is replaced

    <!-- end of dense -->
"""

import os
import pathlib
import re
import tempfile


def replace(text, section, content):
    """`text` with what stands between the section's markers replaced. ValueError unless they are there exactly once."""
    begin, end = f"<!-- recorded: {section} -->", f"<!-- end of {section} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the document must have `{begin}` and, below it, `{end}`, each once")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{content.strip()}\n\n{end}{rest.split(end)[1]}"


def content(text, section):
    """What stands between the section's markers; empty without them."""
    found = re.search(rf"<!-- recorded: {section} -->\n(.*)<!-- end of {section} -->", text, re.DOTALL)
    return found[1].strip() if found else ""


def sections(text):
    return re.findall(r"<!-- recorded: (\S+) -->", text)


def rewrite(path, section, content):
    """The same with a file, which is replaced as a whole or not at all."""
    path = pathlib.Path(path)
    changed = replace(path.read_text(encoding="utf-8"), section, content)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(changed)
    os.chmod(file.name, path.stat().st_mode)
    os.replace(file.name, path)
