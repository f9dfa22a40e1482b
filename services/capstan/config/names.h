// Names that a job file defines: of features, tables, evaluation sets.
#ifndef CAPSTAN_CONFIG_NAMES_H_
#define CAPSTAN_CONFIG_NAMES_H_

#include "absl/strings/string_view.h"
#include "capstan/config/section.h"

namespace capstan {

// Refuses `name`, the value of `key`, unless it has at most 64 letters, digits, _ and -.
void CheckName(Section& in, absl::string_view key, absl::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_NAMES_H_
