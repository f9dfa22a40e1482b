"""How the folders of services/ hang together, read from the text alone: what services/README.md says of it is so.

    tests/lint/structure.py [ROOT]      a line for each thing that is otherwise; exit code 1 if there is one

- Layers: a folder includes only itself and those above it in the map's two tables; a service never another service.
- Doors: headers of others are included only where the map's last column names their library.
- Dependencies: what a CMake target includes of other targets is among its DEPS, or theirs, and each of its DEPS is included.
- Guards: an include guard is the path of its header.
- Tests: each file of tests is in a list of CMake, as one that is in none is never compiled.
- Tested: a source that decides something has a test of its name.
- Callers: a function that a header declares is named again, in services/ or python/src, in a file that includes the header, be it through
  others. A name that another class has as well is nobody's call where that class alone is seen.
- Types: no two types of one namespace have one name. A program that links both takes the functions of either for the other's, and no
  compiler says so.
- Cycles: neither headers nor units include each other in a circle (cycles.py).
- Global state: what lasts as long as the process and may change has a reason (global_state.py).
- Comments: none begins with "Of" (comments.py)."""

import collections
import functools
import pathlib
import re
import sys

from comments import comments
from cycles import cycles
from global_state import global_state

# The headers of a library that has a door, by the beginning of their names. Protobuf has none: its messages are what all speak of.
DOORS = {"spdlog/": "spdlog", "prometheus/": "prometheus-cpp", "yaml-cpp/": "yaml-cpp",
         "curl/": "libcurl", "openssl/": "OpenSSL", "hwy/": "Highway", "zlib.h": "zlib", "zstd.h": "zstd", "snappy.h": "snappy", "lz4.h": "lz4",
         "fast_float/": "fast_float", "Eigen/": "Eigen", "grpc/": "gRPC", "grpcpp/": "gRPC", "CLI/": "CLI11",
         "jpeglib.h": "libjpeg", "jerror.h": "libjpeg", "png.h": "libpng", "nlohmann/": "nlohmann-json", "pugixml.hpp": "pugixml",
         "civetweb.h": "CivetWeb", "onnx/": "ONNX"}
# The types that the signatures of RPCs are made of: whoever serves or calls one includes them.
SIGNATURES = {"grpcpp/client_context.h", "grpcpp/support/byte_buffer.h", "grpcpp/support/server_callback.h",
              "grpc/health/v1/health.grpc.pb.h"}
SERVICES = ("ps", "worker", "chief", "cli")
# Declared for callers outside of services/ and python/src: their names, and who calls.
CALLED_ELSEWHERE = {
    "AbslHashValue": "Abseil's hash tables",
    "NewCallbackServerContext": "gRPC", "NewGenericCallbackServerContext": "gRPC", "InternalInlineable": "gRPC",
    "Session": "clients that are no workers, as the benchmark of the data plane is",
    "PullAll": "clients that wait, as tests do", "PushAll": "clients that wait, as tests do",
    "ParseJob": "tests, and the fuzzer of job files",
    "Advance": "tests, whose time a FakeClock is", "Tasks": "tests and benchmarks, which read all ranges in their order",
    "DebugString": "the explorer of states (tests), which takes equal texts for equal states",
    "tasks_kept": "tests: nothing else shows that a feed, which may be read for days, keeps nothing of what is over",
}


class Tree:
    """The files of a project by their paths, and the map in services/README.md."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {str(path.relative_to(self.root)): path.read_text() for top in ("services", "tests")
                      for path in sorted((self.root / top).rglob("*")) if path.suffix in (".h", ".cc")}
        self.lists = {str(path.parent.relative_to(self.root)): path.read_text() for top in ("services", "tests")
                      for path in sorted((self.root / top).rglob("CMakeLists.txt"))}
        rows = re.findall(r"(?m)^\| `([\w/]+)` \|(.*)\|$", (self.root / "services/README.md").read_text().split("\n## ")[0])
        self.doors = {folder: {name.strip() for name in cells.rsplit("|", 1)[-1].split(",")} for folder, cells in rows
                      if cells.count("|") == 1}
        self.order = []
        for folder, cells in rows:
            if cells.count("|") == 1:
                self.order += [other for other, more in rows if more.count("|") == 0 and other.startswith(folder + "/")]
                self.order.append(folder)
        self.order += [folder for folder, cells in rows if cells.count("|") == 0 and folder not in self.order]

    @functools.cached_property
    def code(self):
        return {name: text for name, text in self.files.items() if name.startswith("services/")}

    @functools.cache
    def includes(self, name):
        return re.findall(r'(?m)^#include [<"]([^>"]+)[>"]', self.files[name])

    def folder(self, name):
        """The folder of the map that a header or source below services/ is in; a main.cc is in that of its service."""
        parent = str(pathlib.PurePath(name).parent)
        while parent != "." and parent not in self.order:
            parent = str(pathlib.PurePath(parent).parent)
        return parent if parent != "." else name.split("/")[0]


def layers(tree):
    for name in tree.code:
        of = tree.folder(name.removeprefix("services/"))
        for header in tree.includes(name):
            if f"services/{header}" not in tree.code:
                continue
            to = tree.folder(header)
            if of.split("/")[0] in SERVICES and to.split("/")[0] in SERVICES and of.split("/")[0] != to.split("/")[0]:
                yield f"{name}: a service includes another one, {header}"
            elif of in tree.order and (to not in tree.order or tree.order.index(to) > tree.order.index(of)):
                yield f"{name}: {of} includes {header}, which the map does not put above it"


def doors(tree):
    for name in tree.code:
        of = tree.folder(name.removeprefix("services/"))
        allowed = {library for folder, libraries in tree.doors.items() for library in libraries
                   if of == folder or of.startswith(folder + "/")}
        if pathlib.PurePath(name).name == "main.cc" or of == "cli/commands":
            allowed.add("CLI11")  # Each program reads its command line.
        if of == "cli/onnx":
            allowed.add("ONNX")
        for header in tree.includes(name):
            library = next((door for begin, door in DOORS.items() if header.startswith(begin)), None)
            if library and library not in allowed and header not in SIGNATURES:
                yield f"{name}: includes {header}, and {of} is no door to {library}"


def targets_of(text):
    """{target: its DEPS of our own} of one list of CMake."""
    found = {}
    for name, body in re.findall(r"(?s)capstan_(?:library|binary|program)\((\w+)(.*?)\)\n", text + "\n"):
        found[name] = set(re.findall(r"capstan::(\w+)", body.split("DEPS", 1)[-1])) if "DEPS" in body else set()
    return found


def files_of(text, folder):
    """{file: target} of one list of CMake."""
    return {f"{folder}/{file}": name for name, body in re.findall(r"(?s)capstan_(?:library|binary|program)\((\w+)(.*?)\)\n", text + "\n")
            for file in re.findall(r"[\w./-]+\.(?:h|cc)\b", body)}


def dependencies(tree):
    deps, home = {}, {}
    for folder, text in tree.lists.items():
        if folder.startswith("services"):
            deps |= targets_of(text)
            home |= files_of(text, folder)

    @functools.cache
    def reach(target):
        reached, ahead = set(), {target}
        while ahead:
            reached |= ahead
            ahead = {dep for one in ahead for dep in deps.get(one, ())} - reached
        return reached

    wanted = {target: set() for target in deps}
    for name, target in home.items():
        for header in tree.includes(name) if name in tree.files else ():
            to = home.get(f"services/{header}")
            if to and to != target:
                wanted[target].add(to)
                if to not in reach(target):
                    yield f"{name}: {target} includes {header} of {to}, which is not among its DEPS"
    groups = {target for target in deps if target not in home.values()}
    for target in sorted(set(home.values())):
        for dep in sorted(deps[target]):
            if dep in home.values() and dep not in wanted[target]:
                yield f"target {target}: includes nothing of {dep}, which is among its DEPS"
            elif dep in groups and deps[dep] and not wanted[target] & reach(dep):
                yield f"target {target}: includes nothing of {dep}, which is among its DEPS"


def guards(tree):
    for name, text in tree.code.items():
        if not name.endswith(".h") or name.endswith("-inl.h"):
            continue
        path = name.removeprefix("services/").removeprefix("capstan/")
        guard = f"CAPSTAN_{re.sub('[/.]', '_', path).upper()}_"
        found = re.search(r"(?m)^#ifndef (\w+)$", text)
        if not found or found[1] != guard:
            yield f"{name}: the include guard is {found and found[1]}, not {guard}"


def tests(tree):
    for name in tree.files:
        path = pathlib.PurePath(name)
        if not (name.startswith("tests/") and name.endswith("_test.cc")):
            continue
        lists = [tree.lists[str(parent)] for parent in path.parents if str(parent) in tree.lists]
        if not any(path.name in text or "GLOB" in text or re.search(rf"\b{path.stem.removesuffix('_test')}\b", text)
                   for text in lists[:1]):
            yield f"{name}: is in no list of CMake, so that nobody compiles it"


DECIDES = re.compile(r"\b(?:if|for|while|case)\b|&&|\|\||\?")


def tested(tree):
    named = {path.name.split("_test.")[0] for path in (tree.root / "tests").rglob("*_test.*")}
    for name, text in tree.code.items():
        path = pathlib.PurePath(name)
        if path.suffix != ".cc" or path.name == "main.cc" or path.stem in named:
            continue
        if DECIDES.search(re.sub(r'//.*|"(?:[^"\\]|\\.)*"|#.*', "", text)):
            yield f"{name}: decides something, and there is no {path.stem}_test.cc"


# A member or a function of a namespace, but for what others call by the name of its base, or the language without naming it.
DECLARES = re.compile(r"(?m)^(?:  )?(?!(?:return|asm)\b)(?:\[\[nodiscard\]\] )?(?:static |virtual |inline |constexpr |explicit )*"
                      r"[A-Za-z_][\w:<>,&* ]*[ &*>]((?!ABSL_|operator\b)[A-Za-z]\w+)\((?![^;{]*(?:\boverride\b|\bfinal\b|= delete))")


def words_of(text):
    return collections.Counter(re.findall(r"[A-Za-z_]\w+", re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)))


def callers(tree):
    code = tree.code | {str(path.relative_to(tree.root)): path.read_text() for path in (tree.root / "python/src").glob("*.*")}
    words, users = {}, {}
    for name, text in code.items():
        for word, times in words_of(text).items():
            words.setdefault(word, {})[name] = times
        for header in re.findall(r'(?m)^#include [<"]([^>"]+)[>"]', text):
            users.setdefault(header if header.startswith("python/") else f"services/{header}", set()).add(name)

    @functools.cache
    def seen_by(header):
        seen, ahead = set(), {header}
        while ahead:
            seen |= ahead
            ahead = {user for one in ahead for user in users.get(one, ())} - seen
        return seen

    for name, text in tree.code.items():
        if not name.endswith(".h"):
            continue
        source = re.sub(r"//.*", "", tree.files.get(name[:-2] + ".cc", ""))
        for declared in sorted(set(DECLARES.findall(re.sub(r"//.*", "", text))) - set(CALLED_ELSEWHERE)):
            # Definitions begin a line, calls are indented.
            defined = len(re.findall(rf"(?m)^\S.*\b{declared}\(", source))
            named = sum(times for user, times in words.get(declared, {}).items() if user in seen_by(name))
            if named <= 1 + defined:
                yield f"{name}: nothing that includes it calls {declared}"


DEFINES = re.compile(r"(?:struct|class|enum class) (?:\w+\([^)]*\) )?(\w+)(?: final)?(?: : [^;{]*)? ?\{")


def types_of(text):
    """The types that a file defines outside of others, each with its namespace; those of unnamed ones are the file's own."""
    names = []
    for line in text.splitlines():
        if opened := re.match(r"namespace(?: ([\w:]+))? \{", line):
            names.append(opened[1])
        elif re.match(r"\}  // namespace", line) and names:
            names.pop()
        elif (defined := DEFINES.match(line)) and None not in names:
            yield "::".join([*names, defined[1]])


def types(tree):
    places = {}
    for name, text in tree.code.items():
        for defined in types_of(text):
            places.setdefault(defined, set()).add(name)
    for defined, where in places.items():
        if len(where) > 1:
            yield f"{defined} is defined in {' and in '.join(sorted(where))}"


CHECKS = (layers, doors, dependencies, guards, tests, tested, callers, types, cycles, global_state, comments)


def main(root):
    tree = Tree(root)
    found = [line for check in CHECKS for line in check(tree)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))
