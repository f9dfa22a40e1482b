#include "capstan/data/parquet/cell_text.h"

#include "capstan/data/formats/numbers.h"

namespace capstan::parquet {

bool NearestFloat(std::string_view text, float& value) { return ParseFloat(text, value); }

bool NearestFloat(float number, float& value) {
  value = number;
  return std::isfinite(number);
}

// The text of a double is not exactly the double. If the double is half-way between two floats, the
// text decides.
bool NearestFloat(double number, float& value) {
  value = static_cast<float>(number);
  const double rounded = static_cast<double>(value);
  if (rounded == number) return std::isfinite(number);
  const float other = std::nextafter(value, rounded < number ? HUGE_VALF : -HUGE_VALF);
  if (std::isfinite(value) && std::isfinite(other) &&
      rounded / 2 + static_cast<double>(other) / 2 != number) {
    return true;
  }
  return ParseFloat(CellText(number).view(), value);
}

}  // namespace capstan::parquet
