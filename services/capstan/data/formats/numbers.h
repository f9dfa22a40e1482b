// Numbers of text records.
#ifndef CAPSTAN_DATA_FORMATS_NUMBERS_H_
#define CAPSTAN_DATA_FORMATS_NUMBERS_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// `text` without the spaces around it.
std::string_view Trim(std::string_view text);

// Decimal, with an optional sign and exponent, spaces around it allowed. False: no number, or not a
// finite float.
bool ParseFloat(std::string_view text, float& value);

// The same, of a double.
bool ParseDouble(std::string_view text, double& value);

// Digits only. False: no such number, or above 2^64 - 1.
bool ParseIndex(std::string_view text, uint64_t& value);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_NUMBERS_H_
