#include "capstan/data/formats/labels.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/spelling.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"

namespace capstan {

LabelRule::LabelRule(const v1::DataSpec& data, v1::Loss loss, uint32_t classes, Labels labels)
    : positive_(data.positive_labels().begin(), data.positive_labels().end()),
      class_names_(data.label_classes().begin(), data.label_classes().end()),
      may_be_text_(data.format() == v1::DATA_FORMAT_CSV || data.format() == v1::DATA_FORMAT_TSV ||
                   data.format() == v1::DATA_FORMAT_PARQUET),
      binarize_(data.binarize_label()),
      threshold_(data.label_threshold()),
      loss_(loss),
      classes_(classes),
      ignored_(labels == Labels::kIgnored) {
  // The deviation is not measured yet.
  if (!data.standardize_label() || data.label_deviation() == 0) return;
  mean_ = data.label_mean();
  deviation_ = data.label_deviation();
}

bool LacksAllLabels(std::span<const float> labels) {
  return !labels.empty() &&
         std::all_of(labels.begin(), labels.end(), [](float label) { return std::isnan(label); });
}

LabelRule LabelRule::Of(const v1::LabelSpec& label) const {
  LabelRule rule = *this;
  rule.may_be_missing_ = label.may_be_missing();
  rule.name_ = label.name();
  rule.loss_ = LossOf(label, loss_);
  if (label.name().empty() || rule.loss_ != v1::LOSS_SQUARED) return rule;
  rule.positive_.clear();
  rule.binarize_ = false;
  return rule;
}

bool LabelRule::Parse(std::string_view text, float& label, std::string& error) const {
  float number = 0;
  if (ignored_) return Admit(number, label, error);
  if (may_be_missing_ && Trim(text).empty()) {
    label = kMissingLabel;
    return true;
  }
  if (!positive_.empty()) return ParsePositive(Trim(text), label, error);
  if (!class_names_.empty()) return ParseClass(Trim(text), label, error);
  if (ParseFloat(text, number)) return Admit(number, label, error);
  error = NotANumber(text);
  return false;
}

bool LabelRule::ParsePositive(std::string_view text, float& label, std::string& error) const {
  const bool is = std::find(positive_.begin(), positive_.end(), text) != positive_.end();
  label = is ? 1.0f : 0.0f;
  if (!text.empty()) return true;
  error = IsMissing();
  return false;
}

bool LabelRule::ParseClass(std::string_view text, float& label, std::string& error) const {
  const auto found = std::find(class_names_.begin(), class_names_.end(), text);
  if (found != class_names_.end()) {
    return Admit(static_cast<float>(found - class_names_.begin()), label, error);
  }
  const std::vector<absl::string_view> names(class_names_.begin(), class_names_.end());
  const absl::string_view nearest = Nearest(AbslView(text), names);
  error = absl::StrCat("label ", Quote(text), " is not one of data.schema.classes");
  if (!nearest.empty()) absl::StrAppend(&error, "; did you mean ", nearest, "?");
  return false;
}

std::string LabelRule::IsMissing() const {
  if (name_.empty()) return "the label is missing";
  return absl::StrCat("the label is missing; where records may lack it, set data.schema.labels.",
                      name_, ".optional: true");
}

std::string LabelRule::NotANumber(std::string_view text) const {
  if (may_be_text_ && Trim(text).empty()) return IsMissing();
  std::string error = absl::StrCat("label ", Quote(text), " is not a number");
  if (!may_be_text_) return error;
  if (loss_ == v1::LOSS_LOGISTIC) {
    absl::StrAppend(&error,
                    "; where labels are texts, set data.schema.positive to those that "
                    "count as 1, such as ",
                    Quote(Trim(text)));
  }
  if (loss_ == v1::LOSS_SOFTMAX) {
    absl::StrAppend(&error, "; where labels are texts, set data.schema.classes to all of them");
  }
  return error;
}

bool LabelRule::Admit(float number, float& label, std::string& error) const {
  if (ignored_) {
    label = 0;
    return true;
  }
  label = binarize_ ? (number > threshold_ ? 1.0f : 0.0f)
                    : static_cast<float>((number - mean_) / deviation_);
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
