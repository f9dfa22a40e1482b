#include "chief/shell/change_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/config/config.h"
#include "capstan/config/declared_keys.h"
#include "capstan/config/job_key.h"
#include "capstan/config/key_page.h"

namespace capstan::chief {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

constexpr int kMostValues = 8;  // How many values of a list are shown.

// Fields that are derived from what a key sets, and have no key of their own.
constexpr std::pair<const char*, const char*> kDerived[] = {
    {"data.binarize_label", "data.label_threshold (whether it is given)"},
    {"data.features[].vocabulary.crc32c", "data.features.<name>.file (its checksum)"},
    {"data.features[].vocabulary.entries", "data.features.<name>.file (its texts)"},
    {"data.negatives.crc32c", "data.negatives.file (its checksum)"},
    {"data.negatives.candidates", "data.negatives.file (its candidates)"},
    {"data.numeric[].file_crc32c", "data.schema.numeric[].file (its checksum)"},
};

// An element of a list, on the path to a field.
struct ListElement {
  std::string name;  // The name given by the user, or the index.
  int place = 0;
};

ListElement ElementOf(const Message& message, int place) {
  const FieldDescriptor* const name = message.GetDescriptor()->FindFieldByName("name");
  const bool named = name != nullptr && name->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  std::string text = named ? message.GetReflection()->GetString(message, name) : "";
  return {.name = text.empty() ? absl::StrCat(place) : std::move(text), .place = place};
}

// A field of a message, with [] for the elements of lists on the path to it.
struct FieldPlace {
  std::string field;
  std::vector<ListElement> elements;
};

FieldPlace PlaceOf(const Message& root,
                   const std::vector<MessageDifferencer::SpecificField>& path) {
  FieldPlace place;
  const Message* at = &root;
  for (size_t i = 0; i < path.size(); ++i) {
    const FieldDescriptor& field = *path[i].field;
    absl::StrAppend(&place.field, i == 0 ? "" : ".", field.name());
    if (i + 1 == path.size()) break;  // A list is compared as a whole.
    const google::protobuf::Reflection& reflection = *at->GetReflection();
    at = field.is_repeated() ? &reflection.GetRepeatedMessage(*at, &field, path[i].index)
                             : &reflection.GetMessage(*at, &field);
    if (!field.is_repeated()) continue;
    absl::StrAppend(&place.field, "[]");
    place.elements.push_back(ElementOf(*at, path[i].index));
  }
  return place;
}

std::string KeyOf(const std::string& field) {
  for (const auto& [derived, words] : kDerived) {
    if (field == derived) return words;
  }
  return KeyOfField(field);
}

// Returns a key in which <name> and [] are replaced by these elements.
std::string WithElements(const std::string& key, const std::vector<ListElement>& elements) {
  constexpr absl::string_view kName = "<name>";
  constexpr absl::string_view kPlace = "[]";
  std::string text;
  absl::string_view left = key;
  for (const ListElement& element : elements) {
    const size_t name = left.find(kName);
    const size_t next = std::min(name, left.find(kPlace));
    if (next == left.npos) break;
    absl::StrAppend(&text, left.substr(0, next),
                    next == name ? element.name : absl::StrCat("[", element.place, "]"));
    left.remove_prefix(next + (next == name ? kName.size() : kPlace.size()));
  }
  return absl::StrCat(text, left);
}

// Returns the name in job.yaml of a value of an enumeration: `adam` for OPTIMIZER_KIND_ADAM,
// without the prefix that all its values have.
std::string EnumText(const FieldDescriptor& field, std::string text) {
  const std::string unspecified = field.enum_type()->value(0)->name();
  const absl::string_view common = absl::StripSuffix(unspecified, "UNSPECIFIED");
  return absl::AsciiStrToLower(absl::StripPrefix(text, common));
}

// Returns the text of a value as a job would write it. `key` is the key from which it is read.
std::string InJob(const JobKey& key, const FieldDescriptor& field, std::string text) {
  double number = 0;
  if (key.unit != KeyUnit::kNone && absl::SimpleAtod(text, &number)) {
    return TextInUnit(key.unit, number);
  }
  if (field.type() == FieldDescriptor::TYPE_ENUM) {
    text = EnumText(field, std::move(text));
    return text == "unspecified" && !key.default_value.empty() ? PlainText(key.default_value)
                                                               : text;
  }
  // A choice between two names, of which the first stands for false.
  const std::vector<std::string> names = absl::StrSplit(key.values, ", ");
  if (field.type() == FieldDescriptor::TYPE_BOOL && names.size() == 2 && names[0] != "true") {
    return names[text == "true" ? 1 : 0];
  }
  return text;
}

std::string OneValue(const JobKey& key, const Message& of, const FieldDescriptor& field,
                     int index) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(of, &field, index, &text);
  return InJob(key, field, std::move(text));
}

// Returns the text of a field. A list is shown as a whole; of messages only whether, or how many,
// are set.
std::string ValueText(const JobKey& key, const Message& of, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *of.GetReflection();
  const bool message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field.is_repeated()) {
    if (message) return reflection.HasField(of, &field) ? "given" : "not given";
    return OneValue(key, of, field, -1);
  }
  const int size = reflection.FieldSize(of, &field);
  if (message) return absl::StrCat(size, size == 1 ? " entry" : " entries");
  std::vector<std::string> values;
  for (int i = 0; i < std::min(size, kMostValues); ++i) {
    values.push_back(OneValue(key, of, field, i));
  }
  if (size > kMostValues) values.push_back(absl::StrCat("... ", size, " in all"));
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

class Lines : public MessageDifferencer::Reporter {
 public:
  using Path = std::vector<MessageDifferencer::SpecificField>;

  // `root` is the job before, which must outlive this object.
  explicit Lines(const Message& root) : root_(root) {
    for (JobKey& key : JobKeys()) keys_.emplace(key.key, key);
  }

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
    const FieldPlace place = PlaceOf(root_, path);
    const std::string key = KeyOf(place.field);
    const std::string name = WithElements(key, place.elements);
    if (!told_.insert(name).second) return;  // Another element of the same list.
    const JobKey& of = keys_[key];           // Empty for what is no key.
    absl::StrAppend(&text_, name, ": ", ValueText(of, before, field), " -> ",
                    ValueText(of, now, field), "\n");
  }

  const Message& root_;
  std::map<std::string, JobKey> keys_;
  std::set<std::string> told_;
  std::string text_;
};

std::string LinesOf(const v1::JobSpec& before, const v1::JobSpec& now) {
  Lines lines(before);
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
