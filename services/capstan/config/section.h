// Reads the tree of a job file key by key, strictly. Each mistake is noted with its place and what
// was expected, and reading goes on with the default, so that one run shows all mistakes.
#ifndef CAPSTAN_CONFIG_SECTION_H_
#define CAPSTAN_CONFIG_SECTION_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "capstan/config/findings.h"
#include "capstan/config/job_key.h"
#include "capstan/config/yaml_node.h"

namespace capstan {

template <typename T>
struct Choice {
  absl::string_view name;
  T value;
};

// Reads one map. Each method reads one key, and returns `fallback` if the key is absent or wrong.
// The destructor refuses keys that were never asked for. Thread-compatible.
class Section {
 public:
  // `node` is null for an absent section. `node` and `findings` must outlive this object.
  Section(const YamlNode* node, std::string path, Findings& findings);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool Has(absl::string_view key) const;
  bool IsMap(absl::string_view key);  // Also true while keys are listed.

  std::string Text(absl::string_view key, absl::string_view fallback = "");
  bool Flag(absl::string_view key, bool fallback);                             // true | false
  uint64_t Whole(absl::string_view key, WholeRange range, uint64_t fallback);  // 5000, 10k, 1M
  uint64_t Bytes(absl::string_view key, WholeRange range, uint64_t fallback);  // 64MiB
  double Seconds(absl::string_view key, NumberRange range, double fallback);   // 10s, 5m
  double Number(absl::string_view key, NumberRange range, double fallback);
  std::vector<std::string> Texts(absl::string_view key);                  // One or a list.
  std::vector<uint64_t> Wholes(absl::string_view key, WholeRange range);  // One or a list.
  std::vector<double> Numbers(absl::string_view key);                     // A list.

  template <typename T>
  T OneOf(absl::string_view key, std::span<const Choice<T>> choices, T fallback) {
    std::vector<absl::string_view> names;
    absl::string_view name_of_fallback;
    for (const Choice<T>& choice : choices) {
      names.push_back(choice.name);
      if (choice.value == fallback) name_of_fallback = choice.name;
    }
    const int index = IndexOf(key, names, name_of_fallback);
    return index < 0 ? fallback : choices[index].value;
  }

  // Returns a map within this one; an empty one if it is absent.
  Section Map(absl::string_view key);
  // Returns the keys of a map whose keys are names that the user chooses, in order; the value of
  // each is a Map. While keys are listed, returns "<name>".
  std::vector<std::string> Names() const;
  // Calls `read_map` with each map of a list (a single map counts as a list of one), and
  // `read_scalar` with each scalar. Without `read_scalar`, scalars are refused.
  using MapReader = absl::FunctionRef<void(Section&)>;
  using ScalarReader = absl::FunctionRef<void(const YamlNode&)>;
  void ForEach(absl::string_view key, MapReader read_map);
  void ForEach(absl::string_view key, MapReader read_map, ScalarReader read_scalar);
  // Returns the scalar, or the scalars of a list, unparsed, for values that have a grammar of their
  // own.
  std::vector<const YamlNode*> Scalars(absl::string_view key, absl::string_view expected);

  // Notes for the list of keys that `key`, which was read before, is required in jobs for which it
  // has a meaning. The caller must check that such jobs set it.
  void Require(absl::string_view key) { findings_.Require(PathOf(key)); }

  // Each notes for the list of keys what is told of `key`, which was read before, in place of what
  // its reader says: for a default that depends on other keys ("model.dropout") or on the data
  // ("measured"), or that is none (""), and for values of which some are refused later.
  void DefaultIs(absl::string_view key, absl::string_view words) {
    findings_.SetDefault(PathOf(key), words);
  }
  void ValuesAre(absl::string_view key, absl::string_view words) {
    findings_.SetValues(PathOf(key), words);
  }

  // Notes a mistake at a key, or at a value of it.
  void Refuse(absl::string_view key, absl::string_view what);
  void RefuseValue(absl::string_view key, const YamlNode& value, absl::string_view expected);

  std::string PathOf(absl::string_view key) const;

 private:
  int IndexOf(absl::string_view key, std::span<const absl::string_view> names,
              absl::string_view fallback);
  // Notes the description of a key for the list of keys.
  void Describe(absl::string_view key, JobKey description);
  // Returns the value of a key; null if it is absent.
  const YamlNode* Raw(absl::string_view key);
  // Returns the scalar of a key; null if it is absent, or is no scalar, which is refused.
  const YamlNode* Scalar(absl::string_view key, absl::string_view expected);
  bool ParseWhole(const YamlNode& node, absl::string_view key, WholeRange range, uint64_t& value);
  bool ParseNumber(const YamlNode& node, absl::string_view key, NumberRange range, double& value);

  const YamlNode* const node_;
  const std::string path_;
  Findings& findings_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SECTION_H_
