"""That no headers include each other, and no units: a header with the source of its name. Of two that know each other nobody
understands, tests or replaces one alone."""

# Units whose source, though not their header, includes who includes them, and why.
REASONS = {
    "services/capstan/checkpoint/manifest": "a manifest is checked against the names of the files that a checkpoint has",
    "services/capstan/client/ps_client": "pulls and pushes are classes of their own, which it makes; their answers are types of its header",
    "services/capstan/data/feed/batch_prefetcher": "it keeps the feeds, which call the types of its header",
    "services/capstan/data/tasks/task_reader": "it opens the reader of the data's format",
    "services/capstan/model/network": "it makes the network that splits batches among several of itself",
    "services/capstan/model/tower": "it makes towers of the kinds that there are",
    "services/capstan/objectstore/object_store": "it opens the store that an address names",
    "services/capstan/optim/optimizer_description": "it finds an optimizer among those that are described",
    "services/capstan/store/table_mark": "it has those functions of Table that concern what its header declares",
    "services/cli/onnx/onnx_model": "it draws the graph, whose tensors are types of its header",
    "services/ps/partition/partition_copy": "it has those functions of Partition that concern what its header declares",
}


def unit(name):
    return name.rsplit(".", 1)[0]


def includes(tree, name):
    """The files of services/ that a file includes."""
    return [f"services/{header}" for header in tree.includes(name) if f"services/{header}" in tree.code]


def cycle(graph):
    """The names along one cycle of {name: names}, which begins and ends with the same; [] where there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        path.append(name)
        for other in sorted(graph.get(name, ())):
            if found := visit(other):
                return found
        done.add(path.pop())
        return []

    return next((found for name in sorted(graph) if (found := visit(name))), [])


def graph_of_units(tree, without=()):
    """What each unit includes of others; of the units `without` only what their header does."""
    graph = {}
    for name in tree.code:
        if name.endswith(".h") or unit(name) not in without:
            graph.setdefault(unit(name), set()).update({unit(other) for other in includes(tree, name)} - {unit(name)})
    return graph


def cycles(tree, reasons=None):
    reasons = REASONS if reasons is None else reasons
    if found := cycle({name: includes(tree, name) for name in tree.code if name.endswith(".h")}):
        yield f"headers include each other: {' -> '.join(found)}"
        return
    if found := cycle(graph_of_units(tree, set(reasons))):
        yield f"units include each other, and tests/lint/cycles.py gives no reason for it: {' -> '.join(found)}"
        return
    for one in sorted(reasons):
        if not cycle(graph_of_units(tree, set(reasons) - {one})):
            yield f"tests/lint/cycles.py: {one} is in no cycle any more"
