#include "capstan/config/yaml_node.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxNodes = 20000;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxShownOverride = 100;

absl::Status Refusal(absl::string_view place, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

// Builds the tree from the parser's events. After the first mistake it ignores all further events.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(absl::string_view name) : name_(name) {
    root_.kind = YamlNode::Kind::kList;  // Holds the document's one value.
    open_.push_back({&root_});
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (Admit(mark, anchor, "")) AddValue(mark, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases are not supported");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!Admit(mark, anchor, tag)) return;
    if (AwaitsKey()) {
      open_.back().node->entries.push_back({.key = value, .place = Place(mark), .value = {}});
      open_.back().has_key = true;
      return;
    }
    YamlNode& node = *AddValue(mark, YamlNode::Kind::kScalar);
    node.text = value;
    node.quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (Admit(mark, anchor, tag)) Open(mark, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (Admit(mark, anchor, tag)) Open(mark, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  std::string Place(const YAML::Mark& mark) const {
    return absl::StrCat(name_, ":", mark.line + 1);
  }
  const absl::Status& status() const { return status_; }
  YamlNode TakeDocument() {
    return root_.entries.empty() ? YamlNode{} : std::move(root_.entries.front().value);
  }

 private:
  struct Level {
    // A list or map that is not complete; points into its parent, which does not change meanwhile.
    YamlNode* node;
    bool has_key = false;  // The key of a map was read, but not its value.
  };

  void Refuse(const YAML::Mark& mark, absl::string_view what) {
    if (status_.ok()) status_ = Refusal(Place(mark), what);
  }

  bool Admit(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    if (anchor != 0) Refuse(mark, "anchors are not supported");
    if (!tag.empty() && tag != "?" && tag != "!") Refuse(mark, "tags are not supported");
    if (++nodes_ > kMaxNodes) Refuse(mark, absl::StrCat("more than ", kMaxNodes, " values"));
    return status_.ok();
  }

  bool AwaitsKey() const {
    return open_.back().node->kind == YamlNode::Kind::kMap && !open_.back().has_key;
  }

  // Returns null, and refuses, if a key is expected here.
  YamlNode* AddValue(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (AwaitsKey()) {
      Refuse(mark, "a key must be a word");
      return nullptr;
    }
    std::vector<YamlNode::Entry>& entries = open_.back().node->entries;
    if (!std::exchange(open_.back().has_key, false)) {
      entries.push_back({.key = "", .place = Place(mark), .value = {}});
    }
    YamlNode& node = entries.back().value;
    node.kind = kind;
    node.place = Place(mark);
    return &node;
  }

  void Open(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (open_.size() > kMaxDepth) Refuse(mark, absl::StrCat("nested deeper than ", kMaxDepth));
    if (!status_.ok()) return;
    if (YamlNode* node = AddValue(mark, kind)) open_.push_back({node});
  }

  void Close() {
    if (status_.ok()) open_.pop_back();
  }

  const std::string name_;
  YamlNode root_;
  std::vector<Level> open_;
  size_t nodes_ = 0;
  absl::Status status_;
};

absl::Status Merge(YamlNode value, absl::string_view path, YamlNode& root) {
  YamlNode* node = &root;
  std::string* key_place = nullptr;
  for (const std::string& key : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    if (key.empty()) return Refusal(value.place, "expected key=value, such as train.epochs=5");
    if (node->kind == YamlNode::Kind::kNull) node->kind = YamlNode::Kind::kMap;
    if (node->kind != YamlNode::Kind::kMap) {
      return Refusal(value.place,
                     absl::StrCat("cannot set ", Quoted(key), " within ", KindName(*node)));
    }
    auto& entries = node->entries;
    auto found = std::find_if(entries.begin(), entries.end(),
                              [&key](const YamlNode::Entry& entry) { return entry.key == key; });
    if (found == entries.end()) {
      found = entries.insert(found, {.key = key, .place = value.place, .value = {}});
    }
    key_place = &found->place;
    node = &found->value;
  }
  *key_place = value.place;
  *node = std::move(value);
  return absl::OkStatus();
}

// Returns the first line up to this one, from 1, that is indented by a tab; 0: there is none. YAML
// does not allow such tabs, but yaml-cpp's message does not say so.
int IndentedByTab(absl::string_view text, int last) {
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (++number > last) return 0;
    const size_t word = line.find_first_not_of(" \t\r");
    if (word == line.npos || line[word] == '#') continue;
    if (line.substr(0, word).find('\t') != line.npos) return number;
  }
  return 0;
}

void SetPlace(const std::string& place, YamlNode& node) {
  node.place = place;
  for (YamlNode::Entry& entry : node.entries) {
    entry.place = place;
    SetPlace(place, entry.value);
  }
}

}  // namespace

absl::string_view KindName(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view name) {
  if (text.size() > kMaxBytes) {
    return Refusal(name, absl::StrCat("larger than ", kMaxBytes, " bytes"));
  }
  TreeBuilder builder(name);
  try {  // yaml-cpp reports bad syntax by exceptions.
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    CAPSTAN_RETURN_IF_ERROR(builder.status());
    YamlNode document = builder.TakeDocument();
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second)) return Refusal(name, "holds more than one document");
    return document;
  } catch (const YAML::Exception& error) {
    if (const int line = IndentedByTab(text, error.mark.line + 1); line > 0) {
      return Refusal(absl::StrCat(name, ":", line),
                     "is indented by a tab; YAML wants spaces there");
    }
    return Refusal(builder.Place(error.mark), error.msg);
  }
}

absl::Status ApplyOverride(absl::string_view assignment, YamlNode& root) {
  const std::string shown = Quoted(std::string(assignment.substr(0, kMaxShownOverride)));
  const std::string place = absl::StrCat("--set ", shown.substr(1, shown.size() - 2));
  const size_t equals = assignment.find('=');
  if (equals == assignment.npos) {
    return Refusal(place, "expected key=value, such as train.epochs=5");
  }
  absl::StatusOr<YamlNode> value = ParseYaml(assignment.substr(equals + 1), place);
  if (!value.ok()) return Refusal(place, "the value is not YAML");
  SetPlace(place, *value);
  return Merge(*std::move(value), assignment.substr(0, equals), root);
}

}  // namespace capstan
