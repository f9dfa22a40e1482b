"""What the wire and the stored messages of a released version mean, they mean for ever: processes of two versions work in
one job during a rolling upgrade, and a later version reads what an earlier one has stored.

    compatibility_test.py PROTO              no field, value or method of the golden file has gone or changed
    compatibility_test.py PROTO --write      writes the golden file anew: once for each release

A field may go if its number is reserved. What is new in the present version may still change."""

import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "wire-0.1.0.txt"
FIELD = descriptor_pb2.FieldDescriptorProto
HEAD = "# Of every message its fields, of every enum its values, of every service its methods, as version 0.1.0 has them.\n"


def files_of(proto):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"-I{proto}", f"--descriptor_set_out={out.name}",
                        *(str(path) for path in sorted(pathlib.Path(proto).rglob("*.proto")))], check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file


def enum_lines(scope, enum):
    for value in enum.value:
        yield f"{scope}.{enum.name} {value.number} {value.name}"


def message_lines(scope, message):
    name = f"{scope}.{message.name}"
    for field in message.field:
        kind = field.type_name.lstrip(".") or FIELD.Type.Name(field.type)[5:].lower()
        repeated = "repeated " if field.label == FIELD.LABEL_REPEATED else ""
        group = f" in {message.oneof_decl[field.oneof_index].name}" if field.HasField("oneof_index") else ""
        yield f"{name} {field.number} {field.name}: {repeated}{kind}{group}"
    for numbers in message.reserved_range:
        yield from (f"{name} {number} reserved" for number in range(numbers.start, numbers.end))
    for enum in message.enum_type:
        yield from enum_lines(name, enum)
    for nested in message.nested_type:
        yield from message_lines(name, nested)


def meaning(files):
    lines = set()
    for file in files:
        for message in file.message_type:
            lines |= set(message_lines(file.package, message))
        for enum in file.enum_type:
            lines |= set(enum_lines(file.package, enum))
        for service in file.service:
            for method in service.method:
                stream = " stream" if method.server_streaming or method.client_streaming else ""
                lines.add(f"{file.package}.{service.name}/{method.name} {method.input_type.lstrip('.')} "
                          f"{method.output_type.lstrip('.')}{stream}")
    return lines


def main():
    lines = meaning(files_of(sys.argv[1]))
    if sys.argv[2:] == ["--write"]:
        GOLDEN.write_text(HEAD + "".join(line + "\n" for line in sorted(lines)))
        return 0
    golden = GOLDEN.read_text().splitlines()[1:]
    gone = [line for line in golden if line not in lines and " ".join([*line.split()[:2], "reserved"]) not in lines]
    for line in gone:
        print(f"FAILED: a process of an earlier version still says: {line}\n"
              "  give what is new a number of its own, and reserve that of what goes")
    print(f"{len(golden)} lines of {GOLDEN.name}: {len(gone)} have gone or changed")
    return 1 if gone or not golden else 0


if __name__ == "__main__":
    sys.exit(main())
