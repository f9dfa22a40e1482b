// Reading a job's tree key by key, strictly: whatever is wrong is noted with its place and what was
// expected, and reading goes on with the default, so that one run shows all mistakes.
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

// One map. Each method reads one key; a key that is absent, or wrong, gives `fallback`. When the
// section ends, keys that nobody asked for are refused. Thread-compatible.
class Section {
 public:
  // `node` null: an absent section. Both must outlive this object.
  Section(const YamlNode* node, std::string path, Findings& findings);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool Has(absl::string_view key) const;
  bool IsMap(absl::string_view key);  // Also where keys are listed.

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

  // A map within this one; absent: empty.
  Section Map(absl::string_view key);
  // The keys of a map whose keys are names that the user gives, in order; each is a Map. Where keys
  // are listed, the name is "<name>".
  std::vector<std::string> Names() const;
  // Calls `read_map` with each map of a list (a map by itself is a list of one), and `read_scalar`
  // with each scalar; without it, scalars are refused.
  using MapReader = absl::FunctionRef<void(Section&)>;
  using ScalarReader = absl::FunctionRef<void(const YamlNode&)>;
  void ForEach(absl::string_view key, MapReader read_map);
  void ForEach(absl::string_view key, MapReader read_map, ScalarReader read_scalar);
  // Values as they stand, for what has a grammar of its own: the scalar, or those of a list.
  std::vector<const YamlNode*> Scalars(absl::string_view key, absl::string_view expected);

  // Tells whoever lists the keys that a job which this one, read before, means something to has to
  // name it. That such a job does is checked by the caller.
  void Require(absl::string_view key) { findings_.Require(PathOf(key)); }

  // Notes a mistake at a key, or at a value of it.
  void Refuse(absl::string_view key, absl::string_view what);
  void RefuseValue(absl::string_view key, const YamlNode& value, absl::string_view expected);

  std::string PathOf(absl::string_view key) const;

 private:
  int IndexOf(absl::string_view key, std::span<const absl::string_view> names,
              absl::string_view fallback);
  // Tells of a key to whoever lists them.
  void Describe(absl::string_view key, JobKey description);
  // The value of a key; null if absent.
  const YamlNode* Raw(absl::string_view key);
  // The scalar behind a key; null if absent or no scalar, which is refused.
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
