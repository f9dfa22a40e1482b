"""Writes the Parquet files of this folder, and beside each what is in it as csv: tests/golden/parquet/make.py [FOLDER]

Needs pyarrow (26 has written those that are here). Each file holds all types, with nulls, in several row groups; what
differs is the encoding, the codec and the version of the pages. In the csv an empty cell is a null, and a number has
as many digits as tell it apart."""

import datetime
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

ROWS = 300


def some(draw, value, share=0.2):
    return None if draw.random() < share else value


def table():
    draw = random.Random(7)
    words = ["", "a", "ab", "abc", "straße", "x" * 50, "yes", "no"]
    ints = [0, 1, -1, 127, 2**31 - 1, -(2**31)]
    longs = ints + [2**53 + 1, 2**63 - 1, -(2**63)]
    columns = {
        "label": pa.array([draw.randrange(2) for _ in range(ROWS)], pa.int32()),
        "flag": pa.array([some(draw, draw.random() < 0.5) for _ in range(ROWS)], pa.bool_()),
        "small": pa.array([some(draw, draw.randrange(-128, 128)) for _ in range(ROWS)], pa.int8()),
        "int": pa.array([some(draw, draw.choice(ints)) for _ in range(ROWS)], pa.int32()),
        "uint": pa.array([some(draw, draw.choice([0, 7, 2**32 - 1])) for _ in range(ROWS)], pa.uint32()),
        "long": pa.array([some(draw, draw.choice(longs)) for _ in range(ROWS)], pa.int64()),
        "ulong": pa.array([some(draw, draw.choice([0, 7, 2**64 - 1])) for _ in range(ROWS)], pa.uint64()),
        "float": pa.array([some(draw, draw.gauss(0, 9)) for _ in range(ROWS)], pa.float32()),
        "double": pa.array([some(draw, draw.gauss(0, 1e9)) for _ in range(ROWS)], pa.float64()),
        "text": pa.array([some(draw, draw.choice(words)) for _ in range(ROWS)], pa.string()),
        "code": pa.array([some(draw, b"%03d" % draw.randrange(40)) for _ in range(ROWS)], pa.binary(3)),
        "day": pa.array([some(draw, draw.randrange(-9, 20000)) for _ in range(ROWS)], pa.int32()).cast(pa.date32()),
        "never": pa.array([None] * ROWS, pa.int64()),
        "always": pa.array(list(range(ROWS)), pa.int64()),
    }
    return pa.table(columns, schema=pa.schema(
        [pa.field(name, values.type, nullable=name not in ("label", "always")) for name, values in columns.items()]))


# What Capstan reads of a table: dates are their days, and the rest as it is.
def as_csv(data, path):
    def text(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, datetime.date):
            return str((value - datetime.date(1970, 1, 1)).days)
        return str(value)

    lines = [",".join(data.column_names)]
    columns = []
    for name in data.column_names:
        column = data[name]
        if column.type == pa.float32():
            column = pa.chunked_array([chunk.cast(pa.string()) for chunk in column.chunks])
        columns.append([text(value) for value in column.to_pylist()])
    lines += [",".join(row) for row in zip(*columns)]
    path.write_text("\n".join(lines) + "\n")


FILES = {
    "plain-none-v1": dict(use_dictionary=False, compression="none", data_page_version="1.0"),
    "plain-zstd-v2": dict(use_dictionary=False, compression="zstd", data_page_version="2.0"),
    "dictionary-snappy-v1": dict(compression="snappy", data_page_version="1.0", write_page_checksum=True),
    "dictionary-gzip-v2": dict(compression="gzip", data_page_version="2.0", write_page_checksum=True),
    "delta-lz4-v2": dict(use_dictionary=False, compression="lz4", data_page_version="2.0", column_encoding={
        "label": "DELTA_BINARY_PACKED", "flag": "RLE", "small": "DELTA_BINARY_PACKED", "int": "DELTA_BINARY_PACKED",
        "uint": "DELTA_BINARY_PACKED", "long": "DELTA_BINARY_PACKED", "ulong": "DELTA_BINARY_PACKED",
        "float": "BYTE_STREAM_SPLIT", "double": "BYTE_STREAM_SPLIT", "text": "DELTA_BYTE_ARRAY",
        "code": "DELTA_BYTE_ARRAY", "day": "BYTE_STREAM_SPLIT", "always": "DELTA_BINARY_PACKED"}),
    "lengths-snappy-v1": dict(use_dictionary=False, compression="snappy", data_page_version="1.0", column_encoding={
        "text": "DELTA_LENGTH_BYTE_ARRAY", "code": "BYTE_STREAM_SPLIT", "long": "BYTE_STREAM_SPLIT"}),
}


def lists():
    """Lists of ids and texts: empty ones, nulls in their place and among their values, and one that is longer than a page."""
    draw = random.Random(11)
    ids = [0, 7, 2**40, 2**63 - 1]
    words = ["a", "ab", "straße", "x" * 30]

    def some_of(values):
        return some(draw, [some(draw, draw.choice(values), 0.1) for _ in range(draw.choice([0, 1, 1, 2, 3, 5]))])

    clicked = [some_of(ids) for _ in range(ROWS)]
    clicked[131] = [draw.choice(ids) for _ in range(400)]
    return pa.table({
        "label": pa.array([draw.randrange(2) for _ in range(ROWS)], pa.int32()),
        "user": pa.array([some(draw, draw.randrange(40)) for _ in range(ROWS)], pa.int64()),
        "clicked": pa.array(clicked, pa.list_(pa.int64())),
        "words": pa.array([some_of(words) for _ in range(ROWS)], pa.list_(pa.string())),
        "always": pa.array([[row] for row in range(ROWS)], pa.list_(pa.field("element", pa.int32(), nullable=False)))},
        schema=pa.schema([
            pa.field("label", pa.int32(), nullable=False), pa.field("user", pa.int64()),
            pa.field("clicked", pa.list_(pa.int64())), pa.field("words", pa.list_(pa.string())),
            pa.field("always", pa.list_(pa.field("element", pa.int32(), nullable=False)), nullable=False)]))


def lists_as_csv(data, path):
    def text(value):
        if isinstance(value, list):
            return "|".join(str(one) for one in value if one is not None)
        return "" if value is None else str(value)

    rows = zip(*(data[name].to_pylist() for name in data.column_names))
    lines = [",".join(data.column_names), *(",".join(text(value) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


LIST_FILES = {
    "lists-plain-v1": dict(use_dictionary=False, compression="none", data_page_version="1.0"),
    "lists-dictionary-v2": dict(compression="snappy", data_page_version="2.0", write_page_checksum=True),
    "lists-delta-v2": dict(use_dictionary=False, compression="zstd", data_page_version="2.0", column_encoding={
        "clicked.list.element": "DELTA_BINARY_PACKED", "words.list.element": "DELTA_BYTE_ARRAY"}),
}


def main(folder):
    listed = lists()
    lists_as_csv(listed, folder / "lists.csv")
    for name, options in LIST_FILES.items():
        pq.write_table(listed, folder / f"{name}.parquet", row_group_size=130, data_page_size=256, write_batch_size=40,
                       dictionary_pagesize_limit=1 << 20, store_schema=False, write_statistics=False, **options)
    data = table()
    as_csv(data, folder / "table.csv")
    for name, options in FILES.items():
        pq.write_table(data, folder / f"{name}.parquet", row_group_size=130, data_page_size=256,
                       dictionary_pagesize_limit=1 << 20, write_batch_size=40, store_schema=False,
                       write_statistics=False, **options)
    # What is refused, each by its name.
    refused = pa.table({
        "label": pa.array([0, 1]), "list": pa.array([[1], [2, 3]]), "struct": pa.array([{"a": 1}, {"a": 2}]),
        "decimal": pa.array([1, 2], pa.decimal128(9, 2)), "half": pa.array([1.5, None], pa.float16()),
        "double": pa.array([1.5, 2.0])})
    pq.write_table(refused, folder / "refused.parquet", store_schema=False, write_statistics=False)
    pq.write_table(refused.select(["label", "double"]), folder / "brotli.parquet", compression="brotli",
                   store_schema=False, write_statistics=False)
    times = pa.table({"label": pa.array([0, 1]), "time": pa.array([0, 1], pa.timestamp("ns"))})
    pq.write_table(times, folder / "int96.parquet", use_deprecated_int96_timestamps=True, store_schema=False,
                   write_statistics=False)
    encrypted(refused.select(["label", "double"]), folder / "encrypted.parquet")


def encrypted(data, path):
    import pyarrow.parquet.encryption as pe

    class Client(pe.KmsClient):
        def __init__(self, config):
            super().__init__()

        def wrap_key(self, key, master):
            return key.hex()

        def unwrap_key(self, key, master):
            return bytes.fromhex(key)

    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["double"]}, plaintext_footer=False)
    properties = pe.CryptoFactory(Client).file_encryption_properties(pe.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, data.schema, encryption_properties=properties, store_schema=False) as out:
        out.write_table(data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
