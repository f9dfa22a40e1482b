#include "capstan/data/parquet/schema.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::parquet {
namespace {

enum class Repetition { kRequired = 0, kOptional = 1, kRepeated = 2 };

// The meaning of a type in addition to how it is stored, as far as reading needs it.
enum class Meaning { kNone, kUnsigned, kDecimal, kInterval, kUuid, kFloat16, kOther };

struct Node {
  std::string name;
  int64_t type = -1;  // -1: the node has children and no type.
  int64_t type_length = 0;
  int64_t repetition = 0;
  int64_t children = 0;
  Meaning meaning = Meaning::kNone;
};

Meaning MeaningOfConverted(int64_t type) {
  if (type == 5) return Meaning::kDecimal;
  if (type >= 11 && type <= 14) return Meaning::kUnsigned;
  return type == 21 ? Meaning::kInterval : Meaning::kNone;
}

bool IsSigned(ThriftReader& in) {
  bool is_signed = true;
  for (ThriftField field; in.Next(field);) {
    if (field.id == 2) {
      is_signed = in.Flag(field);
    } else {
      in.Skip(field);
    }
  }
  return is_signed;
}

// Reads the only field of the union that is set.
Meaning ReadLogicalType(ThriftReader& in) {
  Meaning meaning = Meaning::kNone;
  for (ThriftField field; in.Next(field);) {
    constexpr int kLastKnown = 15;
    if (field.id == 10 && field.type == ThriftType::kStruct) {
      if (!IsSigned(in)) meaning = Meaning::kUnsigned;
      continue;
    }
    if (field.id == 5) meaning = Meaning::kDecimal;
    if (field.id == 14) meaning = Meaning::kUuid;
    if (field.id == kLastKnown) meaning = Meaning::kFloat16;
    if (field.id > kLastKnown) meaning = Meaning::kOther;
    in.Skip(field);
  }
  return meaning;
}

Node ReadNode(ThriftReader& in) {
  Node node;
  for (ThriftField field; in.Next(field);) {
    switch (field.id) {
      case 1:
        node.type = in.Integer(field);
        break;
      case 2:
        node.type_length = in.Integer(field);
        break;
      case 3:
        node.repetition = in.Integer(field);
        break;
      case 4:
        node.name = std::string(in.Binary(field));
        break;
      case 5:
        node.children = in.Integer(field);
        break;
      case 6:
        if (node.meaning == Meaning::kNone)
          node.meaning = MeaningOfConverted(in.Integer(field));
        else
          in.Skip(field);
        break;
      case 10: {
        in.Struct(field);
        const Meaning meaning = ReadLogicalType(in);
        if (meaning != Meaning::kNone) node.meaning = meaning;
        break;
      }
      default:
        in.Skip(field);
    }
  }
  return node;
}

// A child of the root including all nodes below it.
struct Tree {
  std::string name;
  Node leaf;  // The last one.
  uint32_t leaves = 0;
  bool plain = true;             // Every node below the first has at most one child.
  uint32_t definition = 0;       // How many of the nodes may be absent.
  uint32_t repeated = 0;         // How many of the nodes may be repeated.
  uint32_t list_definition = 0;  // The value of `definition` at the first of these.

  bool is_list() const { return leaves == 1 && plain && repeated == 1; }
};

bool Is(const Node& node, Repetition repetition) {
  return node.repetition == static_cast<int64_t>(repetition);
}

void Add(const Node& node, Tree& tree) {
  if (!Is(node, Repetition::kRequired)) ++tree.definition;
  if (Is(node, Repetition::kRepeated) && ++tree.repeated == 1) {
    tree.list_definition = tree.definition;
  }
  if (node.children > 1) tree.plain = false;
  if (node.children == 0) {
    tree.leaf = node;
    ++tree.leaves;
  }
}

// `deep`: there are nodes between the column and its values.
std::string WhyUnreadable(const Tree& tree, bool deep) {
  const Node& node = tree.leaf;
  if (deep && !tree.is_list()) {
    return tree.repeated > 1
               ? "is a list of lists; supported are plain columns and lists of values"
               : "is a map or a struct; supported are plain columns and lists of values";
  }
  switch (node.meaning) {
    case Meaning::kDecimal:
      return "is a DECIMAL; store it as integers or as DOUBLE";
    case Meaning::kInterval:
      return "is an INTERVAL; store it as integers or as DOUBLE";
    case Meaning::kUuid:
      return "is a UUID; store it as text";
    case Meaning::kFloat16:
      return "is FLOAT16; store it as FLOAT";
    case Meaning::kOther:
      return "has a logical type that is not known";
    default:
      break;
  }
  if (node.type == static_cast<int64_t>(Physical::kInt96)) {
    return "is INT96; store the times as TIMESTAMP, which is INT64";
  }
  return "";
}

// `nodes`: how many nodes the schema has.
absl::Status CheckNode(const Node& node, size_t nodes) {
  constexpr int64_t kMostFixed = int64_t{1} << 20;
  const bool fixed = node.type == static_cast<int64_t>(Physical::kFixed);
  const bool leaf = node.children == 0;
  if (node.children < 0 || node.children > static_cast<int64_t>(nodes) || node.repetition < 0 ||
      node.repetition > 2 || (leaf && (node.type < 0 || node.type > 7)) ||
      (leaf && fixed && (node.type_length < 1 || node.type_length > kMostFixed))) {
    return absl::DataLossError("the footer's schema is malformed");
  }
  return absl::OkStatus();
}

Column ColumnOf(const Tree& tree, bool deep, uint32_t leaf) {
  const Node& node = tree.leaf;
  return {.name = tree.name,
          .physical = static_cast<Physical>(node.type),
          .fixed_bytes = static_cast<uint32_t>(node.type_length),
          .is_unsigned = node.meaning == Meaning::kUnsigned,
          .optional = !deep && Is(node, Repetition::kOptional),
          .list = tree.is_list(),
          .list_definition = tree.list_definition,
          .most_definition = tree.definition,
          .leaf = leaf,
          .unreadable = WhyUnreadable(tree, deep)};
}

}  // namespace

absl::StatusOr<Schema> ReadSchema(ThriftReader& in, const ThriftField& field) {
  Schema schema;
  const size_t nodes = in.List(field, ThriftType::kStruct);
  int64_t wanted = 1;   // How many nodes, announced by the nodes so far, have yet to come.
  int64_t pending = 0;  // How many of these are below the present column.
  Tree tree;            // The present column.
  bool deep = false;
  for (size_t i = 0; i < nodes && !in.failed(); ++i) {
    Node node = ReadNode(in);
    if (in.failed()) break;
    if (i == 0 && node.children == 0) node.children = -1;  // The root is not a column.
    if (absl::Status status = CheckNode(node, nodes); !status.ok()) return status;
    wanted += node.children - 1;
    if (wanted < 0 || wanted > static_cast<int64_t>(nodes)) break;
    if (i == 0) continue;
    if (pending == 0) {
      tree = {.name = node.name};
      deep = node.children > 0;
      pending = 1;
    }
    pending += node.children - 1;
    Add(node, tree);
    if (node.children == 0) schema.leaves.push_back(static_cast<Physical>(node.type));
    if (pending > 0) continue;
    const auto first = static_cast<uint32_t>(schema.leaves.size()) - tree.leaves;
    schema.columns.push_back(ColumnOf(tree, deep, first));
  }
  if (!in.failed() && wanted == 0 && pending == 0 && nodes > 0) return schema;
  return absl::DataLossError("the footer's schema is malformed");
}

}  // namespace capstan::parquet
