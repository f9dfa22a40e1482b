// Which labels a job accepts.
#ifndef CAPSTAN_DATA_FORMATS_LABELS_H_
#define CAPSTAN_DATA_FORMATS_LABELS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// kIgnored: records are scored, not trained on. They may lack all of their labels (csv and tsv: the
// line has that many cells fewer; Parquet: the columns are missing; libsvm and libfm: the line
// begins with a feature), and a label that is present may be any text. All labels are read as 0.
// Weights and groups are not read, as nothing is evaluated.
enum class Labels { kRequired, kIgnored };

// The value of a label that a record lacks; test for it with std::isnan.
inline constexpr float kMissingLabel = std::numeric_limits<float>::quiet_NaN();

// The error for a record that lacks all of its labels, from which nothing can be learned.
inline constexpr char kNoLabelAtAll[] = "none of the labels is there";
bool LacksAllLabels(std::span<const float> labels);

// Immutable.
class LabelRule {
 public:
  // `classes` is the number of classes of a softmax; 0 or 1: not known, and any whole number from 0
  // on is accepted.
  LabelRule(const v1::DataSpec& data, v1::Loss loss, uint32_t classes,
            Labels labels = Labels::kRequired);

  // Returns the rule of one of several labels. If that label may be missing, an empty text becomes
  // kMissingLabel. Settings that turn labels into 0 and 1 do not apply to labels with a squared
  // loss.
  LabelRule Of(const v1::LabelSpec& label) const;

  bool ignored() const { return ignored_; }
  bool texts() const { return !positive_.empty() || !class_names_.empty(); }  // Labels are texts.

  // Set `label` to the label that a text, or a number, stands for, standardized if the job says so.
  // Return false if it is not a label or outside the loss's domain; `error` then says so, and what
  // to do. Spaces around a text are ignored.
  bool Parse(std::string_view text, float& label, std::string& error) const;
  bool Admit(float number, float& label, std::string& error) const;

 private:
  bool ParsePositive(std::string_view text, float& label, std::string& error) const;
  bool ParseClass(std::string_view text, float& label, std::string& error) const;
  std::string IsMissing() const;
  std::string NotANumber(std::string_view text) const;

  std::vector<std::string> positive_;
  std::vector<std::string> class_names_;
  bool may_be_text_;  // The format allows data.schema to say what texts mean.
  double mean_ = 0;
  double deviation_ = 1;
  bool binarize_;
  float threshold_;
  v1::Loss loss_;
  uint32_t classes_;
  bool ignored_;
  bool may_be_missing_ = false;
  std::string name_;  // Empty if the job has only this label.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LABELS_H_
