"""How the comments of services/ and proto/ begin. One that begins with "Of" is half a sentence, whose other half the reader has to
find: it says neither what is there nor what is done."""

import re

# Behind code, or the first line of several.
BEGINS_WITH_OF = re.compile(r"//+ Of\b")
LINE = re.compile(r"\s*//")


def comments(tree):
    protos = {str(path.relative_to(tree.root)): path.read_text() for path in sorted((tree.root / "proto").rglob("*.proto"))}
    for name, text in {**tree.code, **protos}.items():
        before = ""
        for number, line in enumerate(text.splitlines(), 1):
            goes_on = LINE.match(line) and LINE.match(before)
            if BEGINS_WITH_OF.search(line) and not goes_on:
                yield f'{name}:{number}: a comment begins with "Of": say what it is, or what is done, as a whole sentence'
            before = line
