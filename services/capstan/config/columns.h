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

// Reads data.schema.numeric or .categorical: "1-13", a list of such, or, if `transforms`, also (a
// list of) {columns: "1-13", transform: log}.
std::vector<v1::ColumnSpec> ReadColumns(Section& in, absl::string_view key, bool transforms);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_COLUMNS_H_
