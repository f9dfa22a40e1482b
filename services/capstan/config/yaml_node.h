// A YAML text as a tree that knows where everything stands. The only place that sees yaml-cpp.
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
  // The entries of a list or map, in order. A key may still be there twice.
  std::vector<Entry> entries;
};

struct YamlNode::Entry {
  std::string key;    // Empty in a list.
  std::string place;  // Where the key is.
  YamlNode value;
};

// "text", "a list", "a map" or "nothing": what a node is, in messages.
absl::string_view KindName(const YamlNode& node);

// Reads one document. `name` is the file's, for places. INVALID_ARGUMENT, with the place, for bad
// syntax, a second document, anchors, aliases, tags, keys that are no scalars, and for more than 1
// MiB or 20,000 nodes: no text takes long or much memory. An empty text is an empty map.
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view name);

// Puts `assignment`, "train.epochs=5", over what `root` says; the value is YAML, maps on the way
// are made.
absl::Status ApplyOverride(absl::string_view assignment, YamlNode& root);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_YAML_NODE_H_
