// Converts typed cells to the text, and to the number, that they would be in a csv of the same
// table.
#ifndef CAPSTAN_DATA_PARQUET_CELL_TEXT_H_
#define CAPSTAN_DATA_PARQUET_CELL_TEXT_H_

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capstan::parquet {

// The text of a cell: integers in decimal, booleans as true and false, floating-point numbers with
// the fewest digits that identify them. The text is valid as long as this object and, if the cell
// is a text, as long as the cell's bytes.
class CellText {
 public:
  explicit CellText(std::string_view text) : text_(text) {}
  explicit CellText(bool flag) : text_(flag ? "true" : "false") {}
  template <typename Number>
  explicit CellText(Number number) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number);
    text_ = {digits_.data(), static_cast<size_t>(end.ptr - digits_.data())};
  }
  CellText(const CellText&) = delete;

  std::string_view view() const { return text_; }

 private:
  std::array<char, 32> digits_;
  std::string_view text_;
};

// Return true if a cell counts as empty: an empty text, or NaN.
inline bool IsMissing(std::string_view text) { return text.empty(); }
inline bool IsMissing(float value) { return std::isnan(value); }
inline bool IsMissing(double value) { return std::isnan(value); }
inline bool IsMissing(bool) { return false; }
inline bool IsMissing(int64_t) { return false; }
inline bool IsMissing(uint64_t) { return false; }

// Set `value` to the float nearest to the cell's text, bit-equal to that of ParseFloat. Return
// false if the text is not a number, or not a finite float.
bool NearestFloat(std::string_view text, float& value);
bool NearestFloat(float number, float& value);
bool NearestFloat(double number, float& value);
inline bool NearestFloat(bool flag, float& value) {
  value = flag ? 1.0F : 0.0F;
  return true;
}
inline bool NearestFloat(int64_t number, float& value) {
  value = static_cast<float>(number);
  return true;
}
inline bool NearestFloat(uint64_t number, float& value) {
  value = static_cast<float>(number);
  return true;
}

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_CELL_TEXT_H_
