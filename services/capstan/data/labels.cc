#include "capstan/data/labels.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/data/numbers.h"
#include "capstan/data/quote.h"

namespace capstan {

LabelRule::LabelRule(const v1::DataSpec& data, v1::Loss loss, uint32_t classes, Labels labels)
    : binarize_(data.binarize_label()),
      threshold_(data.label_threshold()),
      loss_(loss),
      classes_(classes),
      ignored_(labels == Labels::kIgnored) {}

bool LabelRule::Parse(std::string_view text, float& label, std::string& error) const {
  float number = 0;
  if (!ignored_ && !ParseFloat(text, number)) {
    error = absl::StrCat("label ", Quote(text), " is not a number");
    return false;
  }
  return Admit(number, label, error);
}

bool LabelRule::Admit(float number, float& label, std::string& error) const {
  if (ignored_) {
    label = 0;
    return true;
  }
  label = binarize_ ? (number > threshold_ ? 1.0f : 0.0f) : number;
  if (loss_ == v1::LOSS_LOGISTIC && label != 0.0f && label != 1.0f) {
    error = absl::StrCat("label is ", number,
                         ", expected 0 or 1 (logistic loss; a label threshold makes two classes)");
    return false;
  }
  if (loss_ != v1::LOSS_SOFTMAX) return true;
  const bool whole = label >= 0.0f && label == std::floor(label);
  if (whole && (classes_ <= 1 || label < static_cast<float>(classes_))) return true;
  error = absl::StrCat("label is ", number, ", expected a class");
  if (classes_ > 1) absl::StrAppend(&error, ", 0 to ", classes_ - 1);
  return false;
}

}  // namespace capstan
