#include "capstan/config/declared_keys.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

constexpr absl::string_view kPart = "<part>";
constexpr absl::string_view kParts[] = {"dense", "sparse"};

// Returns `key` with the prefix `from` replaced by `to`, if it has that prefix.
std::string WithFront(absl::string_view key, absl::string_view from, absl::string_view to) {
  if (!absl::StartsWith(key, from)) return std::string(key);
  return absl::StrCat(to, key.substr(from.size()));
}

// Optimizers of tables and of groups have the keys of the part's.
std::string KeyOfPart(absl::string_view key) {
  const std::string of_table = WithFront(key, "tables.<name>.optimizer.", "optimizer.sparse.");
  return WithFront(of_table, "optimizer.dense.groups[].", "optimizer.dense.");
}

// optimizer.<part>.beta1 for optimizer.dense.beta1.
std::string OfAnyPart(std::string key) {
  for (const absl::string_view section : {"optimizer.", "update."}) {
    for (const absl::string_view part : kParts) {
      key = WithFront(key, absl::StrCat(section, part, "."), absl::StrCat(section, kPart, "."));
    }
  }
  return key;
}

using KeyIndex = std::map<absl::string_view, const DeclaredKey*>;

KeyIndex IndexOfKeys() {
  KeyIndex index;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) index.emplace(declared.key, &declared);
  }
  return index;
}

// Readers ask up to three times for each key of each table, feature and group.
const DeclaredKey* FindExactly(absl::string_view key) {
  static const KeyIndex index = IndexOfKeys();
  const auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

// Returns true if a field is that of `path`, or within it.
bool IsWithin(absl::string_view field, absl::string_view path) {
  return absl::StartsWith(field, path) &&
         (field.size() == path.size() || field[path.size()] == '.' || field[path.size()] == '[');
}

std::vector<absl::string_view> PathsOf(const DeclaredKey& declared) {
  return absl::StrSplit(declared.fields, ", ", absl::SkipEmpty());
}

std::string OfPart(absl::string_view text, absl::string_view part) {
  return absl::StrReplaceAll(text, {{kPart, part}});
}

// A field of a message, and the key from which it is read.
struct Read {
  std::string field;
  std::string key;
};

// Adds the fields of a key whose names differ from it, for both parts if the key has parts.
void AppendRead(const DeclaredKey& declared, std::vector<Read>& read) {
  for (const absl::string_view path : PathsOf(declared)) {
    for (const absl::string_view part : kParts) {
      read.push_back({.field = OfPart(path, part), .key = OfPart(declared.key, part)});
    }
  }
}

}  // namespace

std::vector<DeclaredSection> DeclaredSections() {
  return {{"job", DeclaredJobKeys()},
          {"data", DeclaredDataKeys()},
          {"model", DeclaredModelKeys()},
          {"table", DeclaredTableKeys()},
          {"optimizer", DeclaredOptimizerKeys()},
          {"update", DeclaredUpdateKeys()},
          {"train", DeclaredTrainKeys()},
          {"checkpoint", DeclaredCheckpointKeys()}};
}

const DeclaredKey* FindDeclared(absl::string_view key) {
  if (const DeclaredKey* const found = FindExactly(key)) return found;
  const std::string of_part = KeyOfPart(key);
  if (const DeclaredKey* const found = FindExactly(of_part)) return found;
  return FindExactly(OfAnyPart(of_part));
}

std::string KeyOfField(absl::string_view field) {
  std::vector<Read> all;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) AppendRead(declared, all);
  }
  Read nearest;  // The innermost field that contains the field.
  for (Read& read : all) {
    if (read.field.size() <= nearest.field.size() || !IsWithin(field, read.field)) continue;
    nearest = std::move(read);
  }
  return absl::StrCat(nearest.key, field.substr(nearest.field.size()));
}

std::vector<std::string> FieldsThatMayChange() {
  std::vector<std::string> fields;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      if (!declared.may_change) continue;
      std::vector<absl::string_view> paths = PathsOf(declared);
      if (paths.empty()) paths.push_back(declared.key);
      for (const absl::string_view path : paths) {
        if (path.find_first_of("[<") == path.npos) fields.emplace_back(path);
      }
    }
  }
  return fields;
}

}  // namespace capstan
