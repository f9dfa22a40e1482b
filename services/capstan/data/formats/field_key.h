// The key of a categorical value.
#ifndef CAPSTAN_DATA_FORMATS_FIELD_KEY_H_
#define CAPSTAN_DATA_FORMATS_FIELD_KEY_H_

#include <cstdint>
#include <string_view>

#include "capstan/base/hash.h"

namespace capstan {

// Returns a number for each column of a file (from 0), so that the same text has different keys in
// different columns.
constexpr uint64_t ColumnSalt(uint32_t column) { return Draw(/*seed=*/0, /*stream=*/column, 0); }

// Never changes, like HashText: keys are stored with the model. Numbers and hexadecimal ids are
// treated as text here; the empty text is a value like any other.
constexpr uint64_t FieldKey(uint32_t column, std::string_view text) {
  return HashText(text) ^ ColumnSalt(column);
}

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_FIELD_KEY_H_
