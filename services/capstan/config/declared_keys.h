// The keys of job.yaml in the order of docs/job-yaml.md, section by section. Each key is declared
// once, and everything that is shown or checked of it follows from its declaration:
//
//   {.key = "train.clip_norm",
//    .values = NumberKey{.in = {.open = true}},
//    .help = "Bound of the norm of a worker's whole gradient."},
//
// - `values` (key_values.h) is the kind of its values, with their range or choices, and its
//   default. Section (section.h) refuses other values. A reader names the key that it reads, its
//   kind, and the field to set: out.set_clip_norm(in.Number("clip_norm")). It states no range, and
//   a default only if that depends on other keys. Reading a key as another kind than the declared
//   one is a bug, and aborts the process.
// - `capstan config keys`, the tables of docs/job-yaml.md and the texts of the difference between
//   two jobs (chief/shell/change_text.h) are generated from JobKeys() (config.h), which combines
//   the declarations of all keys that are read.
//
// Not declared here are:
// - ranges and defaults of the settings of optimizers, and their names, which each kind of
// optimizer
//   describes (capstan/optim/optimizer_description.h), so that users can add kinds. Their keys are
//   declared with OptimizerKey and their help.
// - constraints between keys, such as `is only for` and `is missing beside`, and other constraints
//   than ranges, such as the grammar of columns. These are code of the readers and of
//   cross_checks.h.
#ifndef CAPSTAN_CONFIG_DECLARED_KEYS_H_
#define CAPSTAN_CONFIG_DECLARED_KEYS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/config/key_values.h"

namespace capstan {

// In `key` and `fields`, `<part>` stands for `dense` and for `sparse`, `<name>` for a name that the
// user chooses, and `[]` for any index of a list.
struct DeclaredKey {
  absl::string_view key;
  KeyValues values = MapKey{};
  // What is shown in place of the default: "each epoch", "`model.dropout`".
  absl::string_view default_words = {};
  // Every job to which the key applies must set it. Its reader, which knows these jobs, refuses
  // others.
  bool required = false;
  // Whole sentences, in Markdown. Empty for a map of keys, which has no row in the page.
  absl::string_view help = {};
  // The paths of its fields, if they differ from the key: "data.label_column, data.label_name".
  absl::string_view fields = {};
  // A changed value is applied when the chief is restarted.
  bool may_change = false;
};

struct DeclaredSection {
  absl::string_view name;
  std::span<const DeclaredKey> keys;
};

std::vector<DeclaredSection> DeclaredSections();

// Returns the declaration of a key that JobKeys() names. The keys of the optimizers of tables and
// of groups are declared as those of optimizer.<part>. Null if there is none.
const DeclaredKey* FindDeclared(absl::string_view key);

// Returns the key from which a field of v1::JobSpec is read: update.dense.policy for
// dense_update.kind, and data.features.<name>.kind for data.features[].kind. A field that has the
// name of its key, or no key, is returned as it is.
std::string KeyOfField(absl::string_view field);

// Returns the paths of the fields whose keys may change, except for those within lists.
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
