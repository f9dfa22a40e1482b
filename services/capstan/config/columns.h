// Columns of a table of text, as job.yaml names them.
#ifndef CAPSTAN_CONFIG_COLUMNS_H_
#define CAPSTAN_CONFIG_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/config/section.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr uint32_t kMaxColumns = 100000;

// "1-13,15": columns from 0, ranges with both ends. Nothing if it is something else, or a column is
// kMaxColumns or more.
std::optional<std::vector<uint32_t>> ParseColumns(absl::string_view text);

struct ColumnRules {
  bool names = false;       // The files name their columns: what is no number is one of these.
  bool transforms = false;  // Also (a list of) {columns: "1-13", transform: log}.
};

// Reads data.schema.label, .numeric or .categorical: "1-13", or a list of such.
std::vector<v1::ColumnSpec> ReadColumns(Section& in, absl::string_view key, ColumnRules rules);

// Mean and deviation by which numbers are standardized. A deviation of 0 says that both are still
// to be measured, or read from a file.
struct Measures {
  double mean = 0;
  double deviation = 0;
};

// Reads `<prefix>mean` and `<prefix>deviation`: both or none, and none unless `standard`.
Measures ReadMeasures(Section& in, absl::string_view prefix, bool standard);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_COLUMNS_H_
