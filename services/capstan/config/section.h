// Reads the tree of a job file key by key, strictly. What a key may hold, and its default, are as
// declared (declared_keys.h). Each mistake is noted with its place and what was expected, and
// reading goes on with the default, so that one run shows all mistakes.
#ifndef CAPSTAN_CONFIG_SECTION_H_
#define CAPSTAN_CONFIG_SECTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "capstan/config/declared_keys.h"
#include "capstan/config/findings.h"
#include "capstan/config/job_key.h"
#include "capstan/config/key_values.h"
#include "capstan/config/yaml_node.h"

namespace capstan {

// Reads one map. Each method reads one key, and returns its default if the key is absent or wrong.
// The destructor refuses keys that were never asked for. Thread-compatible.
class Section {
 public:
  // Finds what is declared of a key, as FindDeclared does.
  using Declarations = const DeclaredKey* (*)(absl::string_view key);

  // The map of the whole file. `node` and `findings` must outlive this object.
  Section(const YamlNode* node, Findings& findings, Declarations declarations = FindDeclared);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool Has(absl::string_view key) const;
  bool IsMap(absl::string_view key);  // Also true while keys are listed.

  // REQUIRES, of each: the key is declared with this kind of values. `otherwise` is the default
  // of a key whose default depends on other keys; none is declared then.
  std::string Text(absl::string_view key, std::optional<absl::string_view> otherwise = {});
  bool Flag(absl::string_view key);
  uint64_t Whole(absl::string_view key, std::optional<uint64_t> otherwise = {});
  uint64_t Bytes(absl::string_view key);
  double Seconds(absl::string_view key);
  double Number(absl::string_view key);
  std::vector<std::string> Texts(absl::string_view key);
  std::vector<uint64_t> Wholes(absl::string_view key);
  std::vector<double> Numbers(absl::string_view key);

  // Returns the value that the chosen name means; 0, which is false or UNSPECIFIED: none is chosen.
  template <typename T>
  T OneOf(absl::string_view key) {
    const KeyChoice* const chosen = Chosen(key);
    return chosen == nullptr ? T() : static_cast<T>(chosen->value);
  }
  // Returns the choice; null: none is chosen.
  const KeyChoice* Chosen(absl::string_view key);

  // The same for settings of optimizers, whose values are not declared with their help but by each
  // kind of optimizer. A `fallback` that is out of the range means that the setting is off.
  // `choices` must outlive the result. REQUIRES: nothing else is declared of the key's values.
  double Setting(absl::string_view key, const NumberRange& range, double fallback);
  bool Setting(absl::string_view key, const FlagKey& flag);
  const KeyChoice* Setting(absl::string_view key, const ChoiceKey& choices);

  // Returns a map within this one; an empty one if it is absent.
  Section Map(absl::string_view key);
  // Returns the keys of a map whose keys are names that the user chooses, in order; the value of
  // each is a Map. While keys are listed, returns "<name>", as which the keys of this map are
  // declared; all of them are read after this.
  std::vector<std::string> Names();
  // Calls `read_map` with each map of a list (a single map counts as a list of one), and
  // `read_scalar` with each scalar. Without `read_scalar`, scalars are refused.
  using MapReader = absl::FunctionRef<void(Section&)>;
  using ScalarReader = absl::FunctionRef<void(const YamlNode&)>;
  void ForEach(absl::string_view key, MapReader read_map);
  void ForEach(absl::string_view key, MapReader read_map, ScalarReader read_scalar);
  // Returns the scalar, or the scalars of a list, unparsed, for values that have a grammar of their
  // own.
  std::vector<const YamlNode*> Scalars(absl::string_view key, absl::string_view expected);

  // Each notes for the list of keys what is told of `key`, which was read before, in place of what
  // is declared: for settings of optimizers.
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
  // A map within `parent`: `path` as it stands in the file, `declared` as it is declared.
  Section(const YamlNode* node, std::string path, std::string declared, const Section& parent);

  // Notes where the keys of `node`, which may be null, stand.
  void NotePlaces(const YamlNode* node);

  // Returns the path under which a key is declared: data.features.<name>.kind.
  std::string DeclaredPathOf(absl::string_view key) const;
  template <typename T>
  const T& DeclaredAs(absl::string_view key) const;
  void CheckIsSetting(absl::string_view key) const;

  bool FlagOf(absl::string_view key, const FlagKey& flag);
  double NumberOf(absl::string_view key, const NumberKey& number, double otherwise);
  const KeyChoice* ChosenOf(absl::string_view key, const ChoiceKey& choices);

  // Notes the description of a key for the list of keys; `values` if it is not declared.
  void Describe(absl::string_view key, const KeyValues& values);
  // Returns the value of a key; null if it is absent.
  const YamlNode* Raw(absl::string_view key);
  // Returns the scalar of a key; null if it is absent, or is no scalar, which is refused.
  const YamlNode* Scalar(absl::string_view key, absl::string_view expected);
  bool ParseWhole(const YamlNode& node, absl::string_view key, const WholeRange& range,
                  uint64_t& value);
  bool ParseNumber(const YamlNode& node, absl::string_view key, const NumberRange& range,
                   double& value);

  const YamlNode* const node_;
  const std::string path_;
  const std::string declared_path_;
  const Declarations declarations_;
  Findings& findings_;
  std::set<std::string, std::less<>> asked_;
  bool user_names_keys_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SECTION_H_
