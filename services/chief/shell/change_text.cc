#include "chief/shell/change_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace capstan::chief {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

constexpr int kMostValues = 8;  // How many values of a list are shown.

// Keys that have other names in job.yaml than in the message: how they begin in the message, and in
// job.yaml. The first that fits counts.
constexpr std::pair<const char*, const char*> kKeys[] = {
    {"dense_update.kind", "update.dense.policy"},
    {"sparse_update.kind", "update.sparse.policy"},
    {"dense_update.compensate_lambda", "update.dense.lambda"},
    {"sparse_update.compensate_lambda", "update.sparse.lambda"},
    {"dense_update", "update.dense"},
    {"sparse_update", "update.sparse"},
    {"dense_optimizer", "optimizer.dense"},
    {"dense_groups", "optimizer.dense.groups"},
    {"sparse_optimizer", "optimizer.sparse"},
    {"table_limits", "table"},
    {"table_settings", "tables"},
    {"checkpoint.every_seconds", "checkpoint.every"},
    {"lease.heartbeat_seconds", "heartbeat"},
    {"lease.worker_lease_seconds", "worker_lease"},
    {"lease.shard_lease_seconds", "shard_lease"},
    {"lease.data_stall_seconds", "data_stall"},
    {"rebalance.automatic", "rebalance"},
    {"rebalance.bytes_per_second", "rebalance_bytes_per_second"},
    {"train.sum_loss", "train.gradient"},
    {"data.label_column", "data.schema.label"},
    {"data.label_name", "data.schema.label"},
    {"data.labels", "data.schema.labels"},
    {"data.positive_labels", "data.schema.positive"},
    {"data.label_classes", "data.schema.classes"},
    {"data.numeric[", "data.schema.numeric["},
    {"data.categorical[", "data.schema.categorical["},
    {"data.negatives.share", "data.negatives.from"},
    {"data.negatives.crc32c", "data.negatives.file (its checksum)"},
    {"data.negatives.candidates", "data.negatives.file (its candidates)"},
    {"data.standardize_label", "data.label_transform"},
};

std::string KeyOf(const std::vector<MessageDifferencer::SpecificField>& path) {
  std::string key;
  for (const MessageDifferencer::SpecificField& step : path) {
    absl::StrAppend(&key, key.empty() ? "" : ".", step.field->name());
    const bool message = step.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (step.field->is_repeated() && message) absl::StrAppend(&key, "[", step.index, "]");
  }
  for (const auto& [there, here] : kKeys) {
    if (absl::StartsWith(key, there)) return absl::StrCat(here, key.substr(strlen(there)));
  }
  return key;
}

// Returns how job.yaml calls a value of an enumeration: `adam` for OPTIMIZER_KIND_ADAM, without the
// prefix that all its values have.
std::string EnumText(const FieldDescriptor& field, std::string text) {
  const std::string unspecified = field.enum_type()->value(0)->name();
  const absl::string_view common = absl::StripSuffix(unspecified, "UNSPECIFIED");
  return absl::AsciiStrToLower(absl::StripPrefix(text, common));
}

std::string OneValue(const Message& of, const FieldDescriptor& field, int index) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(of, &field, index, &text);
  return field.type() == FieldDescriptor::TYPE_ENUM ? EnumText(field, text) : text;
}

// Returns the text of a field. A list is told as a whole; of messages only whether, or how many,
// are given.
std::string ValueText(const Message& of, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *of.GetReflection();
  const bool message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field.is_repeated()) {
    if (message) return reflection.HasField(of, &field) ? "given" : "not given";
    return OneValue(of, field, -1);
  }
  const int size = reflection.FieldSize(of, &field);
  if (message) return absl::StrCat(size, size == 1 ? " entry" : " entries");
  std::vector<std::string> values;
  for (int i = 0; i < std::min(size, kMostValues); ++i) values.push_back(OneValue(of, field, i));
  if (size > kMostValues) values.push_back(absl::StrCat("... ", size, " in all"));
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

class Lines : public MessageDifferencer::Reporter {
 public:
  using Path = std::vector<MessageDifferencer::SpecificField>;

  void ReportAdded(const Message& before, const Message& now, const Path& path) override {
    Add(before, now, path);
  }
  void ReportDeleted(const Message& before, const Message& now, const Path& path) override {
    Add(before, now, path);
  }
  void ReportModified(const Message& before, const Message& now, const Path& path) override {
    // The fields of a changed message are reported themselves.
    if (path.back().field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) Add(before, now, path);
  }

  const std::string& text() const { return text_; }

 private:
  void Add(const Message& before, const Message& now, const Path& path) {
    const FieldDescriptor& field = *path.back().field;
    // If elements are added or removed, the whole list has changed: the key names no index.
    const bool list = field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    std::string key = KeyOf(path);
    if (list) key.resize(key.rfind('['));
    if (!keys_.insert(key).second) return;  // Another element of the same list.
    absl::StrAppend(&text_, key, ": ", ValueText(before, field), " -> ", ValueText(now, field),
                    "\n");
  }

  std::set<std::string> keys_;
  std::string text_;
};

std::string LinesOf(const v1::JobSpec& before, const v1::JobSpec& now) {
  Lines lines;
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&lines);
  (void)differencer.Compare(before, now);
  return lines.text();
}

void ClearTowers(v1::JobSpec& spec) {
  if (!spec.model().preset().empty()) spec.mutable_model()->clear_towers();
}

void ClearParameters(v1::JobSpec& spec) {
  spec.clear_tables();
  spec.clear_tensors();
}

}  // namespace

std::string ChangeText(v1::JobSpec before, v1::JobSpec now) {
  const std::string all = LinesOf(before, now);
  if (all.empty()) return all;
  ClearParameters(before);
  ClearParameters(now);
  const std::string causes = LinesOf(before, now);
  ClearTowers(before);
  ClearTowers(now);
  const std::string first_causes = LinesOf(before, now);
  return !first_causes.empty() ? first_causes : !causes.empty() ? causes : all;
}

}  // namespace capstan::chief
