// Parses a YAML text into a tree that knows the place of each node. Only this file pair uses
// yaml-cpp.
#ifndef CAPSTAN_CONFIG_YAML_NODE_H_
#define CAPSTAN_CONFIG_YAML_NODE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace capstan {

// A plain value.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string place;    // "job.yaml:12"
  std::string text;     // The text of a scalar.
  bool quoted = false;  // A scalar in quotes is text even if it looks like a number.
  // The entries of a list or map, in order. A key may occur twice.
  std::vector<Entry> entries;
};

struct YamlNode::Entry {
  std::string key;    // Empty in a list.
  std::string place;  // Where the key is.
  YamlNode value;
};

// Returns what a node is, for messages: "text", "a list", "a map" or "nothing".
absl::string_view KindName(const YamlNode& node);

// Parses one document. `name` is the file's name, for places. INVALID_ARGUMENT, with the place: bad
// syntax, a second document, anchors, aliases, tags, keys that are not scalars, or more than 1 MiB
// or 20,000 nodes, which limits time and memory. An empty text is an empty map.
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view name);

// Applies `assignment`, such as "train.epochs=5", to `root`. The value is YAML; missing maps on the
// path are created.
absl::Status ApplyOverride(absl::string_view assignment, YamlNode& root);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_YAML_NODE_H_
