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

// kIgnored: records are scored, not trained on. They may lack the label, and where there are
// several all of them (csv and tsv: so many cells fewer; Parquet: no such columns; libsvm and
// libfm: the line begins with a feature); one that is there may be anything. All labels are 0.
// Nothing is judged, so weights and groups are not read.
enum class Labels { kRequired, kIgnored };

// Stands for a label that a record lacks; std::isnan tells.
inline constexpr float kMissingLabel = std::numeric_limits<float>::quiet_NaN();

// A record lacks all of its labels: there is nothing to be learned from it.
inline constexpr char kNoLabelAtAll[] = "none of the labels is there";
bool LacksAllLabels(std::span<const float> labels);

// Immutable.
class LabelRule {
 public:
  // `classes`: of a softmax; 0 or 1: not known, any whole number from 0 passes.
  LabelRule(const v1::DataSpec& data, v1::Loss loss, uint32_t classes,
            Labels labels = Labels::kRequired);

  // The rule of this one of several labels: where it may be missing, an empty text is
  // kMissingLabel. What makes 0 and 1 of labels leaves those of a squared loss as they are.
  LabelRule Of(const v1::LabelSpec& label) const;

  bool ignored() const { return ignored_; }
  bool texts() const { return !positive_.empty() || !class_names_.empty(); }  // Labels are texts.

  // The label of `text`, or of a number: standardized where the job says so. False: it is none, or
  // outside the loss's domain; `error` then says so, and what to do. Spaces around a text do not
  // count.
  bool Parse(std::string_view text, float& label, std::string& error) const;
  bool Admit(float number, float& label, std::string& error) const;

 private:
  bool ParsePositive(std::string_view text, float& label, std::string& error) const;
  bool ParseClass(std::string_view text, float& label, std::string& error) const;
  std::string NotANumber(std::string_view text) const;

  std::vector<std::string> positive_;
  std::vector<std::string> class_names_;
  bool may_be_text_;  // The schema may say what texts mean.
  double mean_ = 0;
  double deviation_ = 1;
  bool binarize_;
  float threshold_;
  v1::Loss loss_;
  uint32_t classes_;
  bool ignored_;
  bool may_be_missing_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LABELS_H_
