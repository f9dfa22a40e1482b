// Reads the columns of the data files that job.yaml names.
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

// Parses "1-13,15": columns counted from 0, and ranges including both ends. Returns nullopt if the
// text has another form, or a column is kMaxColumns or more.
std::optional<std::vector<uint32_t>> ParseColumns(absl::string_view text);

struct ColumnRules {
  // The files name their columns, so a text that is not a number is a column's name.
  bool names = false;
  bool transforms =
      false;              // Also accepts {columns: "1-13", transform: log}, or a list of such maps.
  bool features = false;  // Only features have keys, so `transform: bucket` is refused.
};

// Reads data.schema.label, .numeric or .categorical, such as "1-13", or a list of such.
std::vector<v1::ColumnSpec> ReadColumns(Section& in, absl::string_view key, ColumnRules rules);

// The mean and deviation by which numbers are standardized. A deviation of 0 means that both have
// yet to be measured, or read from a file.
struct Measures {
  double mean = 0;
  double deviation = 0;
};

// Reads `<prefix>mean` and `<prefix>deviation`. Both or neither must be given, and neither may be
// given unless `standard`.
Measures ReadMeasures(Section& in, absl::string_view prefix, bool standard);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_COLUMNS_H_
