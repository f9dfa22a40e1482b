// The keys of job.yaml in the order of docs/job-yaml.md, section by section: what each means, which
// fields of v1::JobSpec it is read into, and whether it may change while its job exists. The values
// of a key and its default are declared by the call that reads it (section.h), and JobKeys()
// (config.h) tells both together. `capstan config keys` and the page are made of that; the
// difference between two jobs (chief/shell/change_text.h) has its words from there.
#ifndef CAPSTAN_CONFIG_DECLARED_KEYS_H_
#define CAPSTAN_CONFIG_DECLARED_KEYS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace capstan {

// In `key` and `fields`, `<part>` stands for `dense` and for `sparse`, `<name>` for a name that the
// user chooses, and `[]` for any place in a list.
struct DeclaredKey {
  absl::string_view key;
  // Whole sentences, in Markdown. Empty: a map of keys, which has no row in the page.
  absl::string_view help = {};
  // The paths of its fields, where they differ from the key: "data.label_column, data.label_name".
  absl::string_view fields = {};
  // The chief takes another value up when it is started again.
  bool may_change = false;
};

struct DeclaredSection {
  absl::string_view name;
  std::span<const DeclaredKey> keys;
};

std::vector<DeclaredSection> DeclaredSections();

// Returns what is declared of a key that JobKeys() names. The keys of the optimizers of tables and
// of groups are those of optimizer.<part>. Null: nothing is.
const DeclaredKey* FindDeclared(absl::string_view key);

// Returns the key that a field of v1::JobSpec is read from: update.dense.policy for
// dense_update.kind, and data.features.<name>.kind for data.features[].kind. A field that is named
// like its key, or has none, is returned as it is.
std::string KeyOfField(absl::string_view field);

// Returns the paths of the fields whose keys may change, but for those within lists.
std::vector<std::string> FieldsThatMayChange();

// The sections, each in a file of its own.
std::span<const DeclaredKey> DeclaredJobKeys();
std::span<const DeclaredKey> DeclaredDataKeys();
std::span<const DeclaredKey> DeclaredModelKeys();
std::span<const DeclaredKey> DeclaredTableKeys();
std::span<const DeclaredKey> DeclaredOptimizerKeys();
std::span<const DeclaredKey> DeclaredUpdateKeys();
std::span<const DeclaredKey> DeclaredTrainKeys();
std::span<const DeclaredKey> DeclaredCheckpointKeys();

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DECLARED_KEYS_H_
