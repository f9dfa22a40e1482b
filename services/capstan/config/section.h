// Reads the tree of a job file key by key, strictly. The values that a key may have, and its
// default, are those of its declaration (declared_keys.h). Each mistake is recorded with its place
// and what was expected, and reading continues with the default, so that one run shows all
// mistakes.
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
// The destructor refuses keys that were never read. Thread-compatible.
class Section {
 public:
  // Finds the declaration of a key, as FindDeclared does.
  using Declarations = const DeclaredKey* (*)(absl::string_view key);

  // Reads the map of the whole file. `node` and `findings` must outlive this object.
  Section(const YamlNode* node, Findings& findings, Declarations declarations = FindDeclared);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool Has(absl::string_view key) const;
  bool IsMap(absl::string_view key);  // Also true for Findings::Purpose::kListKeys.

  // Each REQUIRES that the key is declared with this kind of values. `otherwise` is the default of
  // a key whose default depends on other keys; such a key has no declared default.
  std::string Text(absl::string_view key, std::optional<absl::string_view> otherwise = {});
  bool Flag(absl::string_view key);
  uint64_t Whole(absl::string_view key, std::optional<uint64_t> otherwise = {});
  uint64_t Bytes(absl::string_view key);
  double Seconds(absl::string_view key);
  double Number(absl::string_view key);
  std::vector<std::string> Texts(absl::string_view key);
  std::vector<uint64_t> Wholes(absl::string_view key);
  std::vector<double> Numbers(absl::string_view key);

  // Returns the value of the chosen name; 0 (false or UNSPECIFIED) if none is chosen.
  template <typename T>
  T OneOf(absl::string_view key) {
    const KeyChoice* const chosen = Chosen(key);
    return chosen == nullptr ? T() : static_cast<T>(chosen->value);
  }
  // Returns the choice; null if none is chosen.
  const KeyChoice* Chosen(absl::string_view key);

  // The same for settings of optimizers, whose values are described by each kind of optimizer
  // rather than declared. A `fallback` outside the range means that the setting is off. `choices`
  // must outlive the result. REQUIRES: the key is declared with OptimizerKey.
  double Setting(absl::string_view key, const NumberRange& range, double fallback);
  bool Setting(absl::string_view key, const FlagKey& flag);
  const KeyChoice* Setting(absl::string_view key, const ChoiceKey& choices);

  // Returns a map within this one; an empty one if the key is absent.
  Section Map(absl::string_view key);
  // Returns the keys, in order, of a map whose keys are names that the user chooses; the value of
  // each must then be read as a Map. For kListKeys, returns "<name>", under which the keys of this
  // map are declared. All of the keys count as read.
  std::vector<std::string> Names();
  // Calls `read_map` with each map of a list (a single map counts as a list of one), and
  // `read_scalar` with each scalar. Without `read_scalar`, scalars are refused.
  using MapReader = absl::FunctionRef<void(Section&)>;
  using ScalarReader = absl::FunctionRef<void(const YamlNode&)>;
  void ForEach(absl::string_view key, MapReader read_map);
  void ForEach(absl::string_view key, MapReader read_map, ScalarReader read_scalar);
  // Returns the scalar, or the scalars of a list, unparsed, for values with their own grammar.
  std::vector<const YamlNode*> Scalars(absl::string_view key, absl::string_view expected);

  // Replace part of the description of `key`, which was read before, in the list of keys; for
  // settings of optimizers.
  void DefaultIs(absl::string_view key, absl::string_view words) {
    findings_.SetDefault(PathOf(key), words);
  }
  void ValuesAre(absl::string_view key, absl::string_view words) {
    findings_.SetValues(PathOf(key), words);
  }

  // Records a mistake at a key, or at a value of it.
  void Refuse(absl::string_view key, absl::string_view what);
  void RefuseValue(absl::string_view key, const YamlNode& value, absl::string_view expected);

  std::string PathOf(absl::string_view key) const;

 private:
  // A map within `parent`: `path` is its path in the file, `declared` the one in the declarations.
  Section(const YamlNode* node, std::string path, std::string declared, const Section& parent);

  // Records the places of the keys of `node`, which may be null.
  void NotePlaces(const YamlNode* node);

  // Returns the path under which a key is declared: data.features.<name>.kind.
  std::string DeclaredPathOf(absl::string_view key) const;
  template <typename T>
  const T& DeclaredAs(absl::string_view key) const;
  void CheckIsSetting(absl::string_view key) const;

  bool FlagOf(absl::string_view key, const FlagKey& flag);
  double NumberOf(absl::string_view key, const NumberKey& number, double otherwise);
  const KeyChoice* ChosenOf(absl::string_view key, const ChoiceKey& choices);

  // Records the description of a key for the list of keys; `values` are used if it is not declared.
  void Describe(absl::string_view key, const KeyValues& values);
  // Returns the value of a key; null if it is absent.
  const YamlNode* Raw(absl::string_view key);
  // Returns the scalar of a key; null if it is absent, or is not a scalar, which is refused.
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
