// Parses numbers as people write them. Each function returns nothing unless the whole text is such
// a number.
#ifndef CAPSTAN_CONFIG_QUANTITY_H_
#define CAPSTAN_CONFIG_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace capstan {

// 5000, 10k, 1.5M, 2G (powers of 1000). Nothing also if the result is not whole or does not fit.
std::optional<uint64_t> ParseCount(absl::string_view text);

// 1048576, 64KiB, 1.5GiB (powers of 1024), 64MB (powers of 1000).
std::optional<uint64_t> ParseByteSize(absl::string_view text);

// 250ms, 10s, 5m, 1.5h, 2d, in seconds. Only 0 may lack a unit.
std::optional<double> ParseSeconds(absl::string_view text);

// A finite number.
std::optional<double> ParseDecimal(absl::string_view text);

// "64MiB", "1.5GiB": three digits at most before the unit, for people.
std::string ByteSizeText(uint64_t bytes);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_QUANTITY_H_
