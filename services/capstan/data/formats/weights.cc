#include "capstan/data/formats/weights.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"

namespace capstan {

bool AdmitWeight(float weight, std::string_view shown, std::string& error) {
  if (std::isfinite(weight) && weight >= 0) return true;
  error = absl::StrCat("weight ", Quote(shown), " is not a number from 0 on");
  return false;
}

bool ParseWeight(std::string_view cell, float& weight, std::string& error) {
  if (!ParseFloat(cell, weight)) weight = std::nanf("");
  return AdmitWeight(weight, cell, error);
}

}  // namespace capstan
