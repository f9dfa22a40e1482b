// Every key that is read is declared, with its help, and so is the key of every field of a job.
#include "capstan/config/declared_keys.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/config/config.h"

namespace capstan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

std::set<std::string> KeysThatAreRead() {
  std::set<std::string> keys;
  for (const JobKey& key : JobKeys()) keys.insert(key.key);
  return keys;
}

// A key with keys below it is a map of keys, unless it may be a value as well.
std::set<std::string> KeysOfValues() {
  const std::set<std::string> all = KeysThatAreRead();
  const std::set<std::string> values = {"data.eval", "data.schema.numeric",
                                        "tables.<name>.optimizer", "optimizer.dense.groups"};
  std::set<std::string> leaves;
  for (const std::string& key : all) {
    const bool map =
        !values.contains(key) && std::any_of(all.begin(), all.end(), [&key](const auto& other) {
          return other.starts_with(key + ".") || other.starts_with(key + "[]");
        });
    if (!map) leaves.insert(key);
  }
  return leaves;
}

std::vector<std::string> OfBothParts(const std::string& key) {
  if (!absl::StrContains(key, "<part>")) return {key};
  return {absl::StrReplaceAll(key, {{"<part>", "dense"}}),
          absl::StrReplaceAll(key, {{"<part>", "sparse"}})};
}

TEST(DeclaredKeysTest, EveryKeyThatHasAValueHasHelp) {
  for (const std::string& key : KeysOfValues()) {
    const DeclaredKey* const declared = FindDeclared(key);
    ASSERT_NE(declared, nullptr) << key;
    EXPECT_FALSE(declared->help.empty()) << key;
  }
}

TEST(DeclaredKeysTest, HelpIsOfKeysThatAreReadAndIsMadeOfSentences) {
  const std::set<std::string> read = KeysThatAreRead();
  std::set<std::string> seen;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      const std::string key(declared.key);
      EXPECT_TRUE(seen.insert(key).second) << key << " is declared twice";
      if (declared.help.empty()) continue;
      for (const std::string& one : OfBothParts(key)) EXPECT_THAT(read, Contains(one));
      const std::string help(declared.help);
      EXPECT_TRUE(std::regex_search(help, std::regex("[.)]$"))) << key << ": " << help;
      EXPECT_THAT(help, Not(StartsWith("As above"))) << key;
    }
  }
}

TEST(DeclaredKeysTest, AKeyHasItsHelpInTheListOfKeys) {
  for (const JobKey& key : JobKeys()) {
    if (key.key == "train.clip_norm") {
      EXPECT_EQ(key.help, "Bound of the norm of a worker's whole gradient.");
    }
    // The optimizers of a table and of a group have the keys of the part's.
    if (absl::StrContains(key.key, "ptimizer") && absl::EndsWith(key.key, ".l1")) {
      EXPECT_EQ(key.help, "ftrl: strength of the L1 penalty.") << key.key;
    }
  }
}

TEST(DeclaredKeysTest, EachKeyIsFoundAsItIsDeclaredAndNothingElseIs) {
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      EXPECT_EQ(FindDeclared(declared.key), &declared) << std::string(declared.key);
    }
  }
  const DeclaredKey* const dense = FindDeclared("update.dense.policy");
  ASSERT_NE(dense, nullptr);
  EXPECT_EQ(dense, FindDeclared("update.<part>.policy"));
  EXPECT_EQ(dense, FindDeclared("update.sparse.policy"));
  for (const char* none : {"", "train.clip", "train.clip_norms", "zzz", "optimizer.other.l1"}) {
    EXPECT_EQ(FindDeclared(none), nullptr) << none;
  }
}

TEST(DeclaredKeysTest, AFieldHasTheKeyThatItIsReadFrom) {
  EXPECT_EQ(KeyOfField("train.clip_norm"), "train.clip_norm");
  EXPECT_EQ(KeyOfField("train.sum_loss"), "train.gradient");
  EXPECT_EQ(KeyOfField("dense_update.kind"), "update.dense.policy");
  EXPECT_EQ(KeyOfField("sparse_update.staleness"), "update.sparse.staleness");
  EXPECT_EQ(KeyOfField("sparse_optimizer.schedule.floor"), "optimizer.sparse.schedule.floor");
  EXPECT_EQ(KeyOfField("dense_groups"), "optimizer.dense.groups");
  EXPECT_EQ(KeyOfField("dense_groups[].match"), "optimizer.dense.groups[].match");
  EXPECT_EQ(KeyOfField("dense_groups[].optimizer.l1"), "optimizer.dense.groups[].l1");
  EXPECT_EQ(KeyOfField("table_settings[].limits.byte_budget"), "tables.<name>.byte_budget");
  EXPECT_EQ(KeyOfField("data.features[].weights.column"), "data.features.<name>.weights");
  EXPECT_EQ(KeyOfField("data.features[].vocabulary.unknown"), "data.features.<name>.unknown");
  EXPECT_EQ(KeyOfField("data.weight.name"), "data.schema.weight");
  EXPECT_EQ(KeyOfField("data.numeric[].transform"), "data.schema.numeric[].transform");
  EXPECT_EQ(KeyOfField("data.label_mean"), "data.label_mean");
}

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void AppendFields(const Descriptor& of, const std::string& path, std::vector<std::string>& fields) {
  for (int i = 0; i < of.field_count(); ++i) {
    const FieldDescriptor& field = *of.field(i);
    const std::string here = absl::StrCat(path, path.empty() ? "" : ".", field.name());
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      fields.push_back(here);
    } else {
      AppendFields(*field.message_type(), here + (field.is_repeated() ? "[]" : ""), fields);
    }
  }
}

// Fields that nobody sets in job.yaml: names of elements, which are part of their keys, what is
// derived of the data or the model, and settings that columns of this use do not have.
bool HasNoKey(const std::string& field) {
  const std::regex without(R"((tables|tensors)\[\].*)"
                           R"(|(data\.features|data\.labels|table_settings)\[\]\.name)"
                           R"(|data\.(dense_width|columns|numbered_in_order|binarize_label))"
                           R"(|.*\.(file_crc32c|crc32c|entries|candidates|learning_rate_power))"
                           R"(|data\.(weight|group|categorical\[\]|features\[\]\.weights)\.)"
                           R"((transform|boundaries|missing|mean|deviation|file))");
  return std::regex_match(field, without);
}

TEST(DeclaredKeysTest, EveryFieldOfAJobHasAKeyUnlessNobodySetsIt) {
  std::vector<std::string> fields;
  AppendFields(*v1::JobSpec::descriptor(), "", fields);
  const std::set<std::string> read = KeysThatAreRead();
  for (const std::string& field : fields) {
    EXPECT_EQ(read.contains(KeyOfField(field)), !HasNoKey(field))
        << field << ": its key would be " << KeyOfField(field)
        << "; where field and key have different names, the declaration of the key names the field";
  }
}

TEST(DeclaredKeysTest, FieldsThatMayChangeAreFieldsOfAJob) {
  const std::vector<std::string> fields = FieldsThatMayChange();
  EXPECT_THAT(fields, Contains("lease.worker_lease_seconds"));
  EXPECT_THAT(fields, Contains("data.eval_sets"));
  EXPECT_THAT(fields, Contains("train.early_stop.metric"));
  EXPECT_THAT(fields, Not(Contains("train.batch_size")));
  for (const std::string& path : fields) {
    const Descriptor* of = v1::JobSpec::descriptor();
    size_t begin = 0;
    for (size_t end = 0; end != path.npos; begin = end + 1) {
      end = path.find('.', begin);
      ASSERT_NE(of, nullptr) << path;
      const FieldDescriptor* const field = of->FindFieldByName(path.substr(begin, end - begin));
      ASSERT_NE(field, nullptr) << path;
      of = field->message_type();
    }
  }
}

TEST(DeclaredKeysTest, SectionsAreInTheOrderOfThePage) {
  std::vector<std::string> names;
  for (const DeclaredSection& section : DeclaredSections()) names.emplace_back(section.name);
  EXPECT_THAT(names, ElementsAre("job", "data", "model", "table", "optimizer", "update", "train",
                                 "checkpoint"));
}

}  // namespace
}  // namespace capstan
