"""Parquet files for tests, of the plainest kind, as pyarrow is on few machines: numbers and texts without nulls, plain or with a
dictionary, and lists of numbers.

    write("a.parquet", [Column("id", "int64", [1, 2]), Column("text", "text", [b"a", b"b"]),
                        Column("clicked", "int64", lists=[[5, 6], []])])

The format: https://parquet.apache.org/docs/file-format. Pages are of version 1; lists have required elements."""

import array
import struct

MAGIC = b"PAR1"
NONE, SNAPPY, GZIP = 0, 1, 2
PHYSICAL = {"int64": 2, "float": 4, "double": 5, "text": 6}
TYPE_CODES = {"int64": "q", "float": "f", "double": "d"}
PLAIN, RLE, DICTIONARY = 0, 3, 8
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
TEXT, LIST = 0, 3  # Converted types.
I32, I64, BINARY, THRIFT_LIST, STRUCT = 5, 6, 8, 9, 12  # Types of Thrift's compact protocol.
PAGE_VALUES = 1 << 20  # Entries of a page at most.


class Column:
    """`values`: numbers, or bytes of texts. In place of them `places` in a `dictionary` of at most 65536 values, an array("H"); or `lists`,
    a sequence of numbers a row."""

    def __init__(self, name, kind, values=None, places=None, dictionary=None, lists=None):
        self.name, self.kind, self.values, self.places = name, kind, values, places
        self.dictionary, self.lists = dictionary, lists

    @property
    def rows(self):
        return len(next(of for of in (self.values, self.places, self.lists) if of is not None))


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def value_of(kind, value):
    if kind in (I32, I64):
        return zigzag(value)
    if kind == BINARY:
        content = value if isinstance(value, bytes) else value.encode()
        return varint(len(content)) + content
    if kind == THRIFT_LIST:
        of, members = value
        head = bytes([len(members) << 4 | of]) if len(members) < 15 else bytes([0xF0 | of]) + varint(len(members))
        return head + b"".join(value_of(of, member) for member in members)
    return value  # A struct, written already.


def struct_of(*fields):
    """Fields (id, type, value), ascending; those whose value is None are left out."""
    out, last = b"", 0
    for number, kind, value in fields:
        if value is not None:
            out += bytes([number - last << 4 | kind]) + value_of(kind, value)
            last = number
    return out + b"\0"


def plain(kind, values):
    if kind == "text":
        return b"".join(struct.pack("<I", len(text)) + text for text in values)
    return array.array(TYPE_CODES[kind], values).tobytes()


def runs(*pairs):
    """Levels of one bit, as (how many, which) in turn, with the length before them."""
    content = b"".join(varint(count << 1) + bytes([bit]) for count, bit in pairs if count)
    return struct.pack("<I", len(content)) + content


def list_pages(kind, lists, most):
    """(entries, content) of pages of at most `most` entries; a row may go on in the next one."""
    entries, repetitions, definitions, values = 0, [], [], array.array(TYPE_CODES[kind])
    for row in lists:
        at, left = 0, max(len(row), 1)
        while left:
            taken = min(left, most - entries)
            repetitions += [(1, 0), (taken - 1, 1)] if at == 0 else [(taken, 1)]
            definitions.append((taken, int(len(row) > 0)))
            values.extend(row[at:at + taken])
            entries, at, left = entries + taken, at + taken, left - taken
            if entries == most:
                yield entries, runs(*repetitions) + runs(*definitions) + values.tobytes()
                entries, repetitions, definitions, values = 0, [], [], array.array(TYPE_CODES[kind])
    if entries:
        yield entries, runs(*repetitions) + runs(*definitions) + values.tobytes()


def pages(column, begin, end, most):
    """(entries, encoding, content) of the data pages of these rows."""
    if column.lists is not None:
        for entries, content in list_pages(column.kind, column.lists[begin:end], most):
            yield entries, PLAIN, content
    elif column.places is not None:  # A width of 16 bits, in groups of eight.
        for at in range(begin, end, most):
            places = column.places[at:min(end, at + most)]
            groups = (len(places) + 7) // 8
            padded = places + array.array("H", bytes(2 * (8 * groups - len(places))))
            yield len(places), DICTIONARY, bytes([16]) + varint(groups << 1 | 1) + padded.tobytes()
    else:
        for at in range(begin, end, most):
            some = column.values[at:min(end, at + most)]
            yield len(some), PLAIN, plain(column.kind, some)


def page(kind, entries, encoding, content, compress):
    """The bytes of a page (0: of data, 2: a dictionary) with its header, and how many they would be uncompressed."""
    stored = compress(content)
    of_data = struct_of((1, I32, entries), (2, I32, encoding), (3, I32, RLE), (4, I32, RLE))
    of_dictionary = struct_of((1, I32, entries), (2, I32, PLAIN))
    header = struct_of((1, I32, kind), (2, I32, len(content)), (3, I32, len(stored)),
                       (5, STRUCT, of_data if kind == 0 else None), (7, STRUCT, of_dictionary if kind == 2 else None))
    return header + stored, len(header) + len(content)


def write_chunk(file, column, begin, end, compress, codec, most):
    """The column's rows of a row group; gives its ColumnChunk."""
    start, entries, large = file.tell(), 0, 0
    if column.dictionary is not None:
        content, size = page(2, len(column.dictionary), PLAIN, plain(column.kind, column.dictionary), compress)
        file.write(content)
        large += size
    data = file.tell()
    for count, encoding, content in pages(column, begin, end, most):
        content, size = page(0, count, encoding, content, compress)
        file.write(content)
        entries, large = entries + count, large + size
    encodings = [PLAIN, RLE] + [DICTIONARY] * (column.dictionary is not None)
    path = [column.name] + ["list", "element"] * (column.lists is not None)
    metadata = struct_of((1, I32, PHYSICAL[column.kind]), (2, THRIFT_LIST, (I32, encodings)), (3, THRIFT_LIST, (BINARY, path)), (4, I32, codec),
                         (5, I64, entries), (6, I64, large), (7, I64, file.tell() - start), (9, I64, data),
                         (11, I64, start if column.dictionary is not None else None))
    return struct_of((2, I64, start), (3, STRUCT, metadata))


def schema_of(column):
    leaf = ((1, I32, PHYSICAL[column.kind]), (3, I32, REQUIRED))
    text = TEXT if column.kind == "text" else None
    if column.lists is None:
        return [struct_of(*leaf, (4, BINARY, column.name), (6, I32, text))]
    return [struct_of((3, I32, REQUIRED), (4, BINARY, column.name), (5, I32, 1), (6, I32, LIST)),
            struct_of((3, I32, REPEATED), (4, BINARY, "list"), (5, I32, 1)), struct_of(*leaf, (4, BINARY, "element"))]


def write(path, columns, rows_a_group=None, compress=bytes, codec=NONE, page_values=PAGE_VALUES):
    """`compress`: that of `codec`. `page_values`: the most entries of a page."""
    rows = columns[0].rows
    assert all(column.rows == rows for column in columns), "columns of one table have equally many rows"
    with open(path, "wb") as file:
        file.write(MAGIC)
        groups, step = [], rows_a_group or max(rows, 1)
        for begin in range(0, rows, step):
            end, start = min(rows, begin + step), file.tell()
            chunks = [write_chunk(file, column, begin, end, compress, codec, page_values) for column in columns]
            groups.append(struct_of((1, THRIFT_LIST, (STRUCT, chunks)), (2, I64, file.tell() - start), (3, I64, end - begin)))
        schema = [struct_of((4, BINARY, "schema"), (5, I32, len(columns))), *(part for column in columns for part in schema_of(column))]
        footer = struct_of((1, I32, 1), (2, THRIFT_LIST, (STRUCT, schema)), (3, I64, rows), (4, THRIFT_LIST, (STRUCT, groups)),
                           (6, BINARY, "capstan tests"))
        file.write(footer + struct.pack("<I", len(footer)) + MAGIC)
