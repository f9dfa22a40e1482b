// docs/job-yaml.md names exactly the keys that there are, with the values that they take and their
// defaults, as they are read, and what optimizers have of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/config/config.h"
#include "capstan/optim/optimizer_description.h"
#include "tests/lib/source_folder.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Page() {
  std::ifstream file(SourceFolder() + "/docs/job-yaml.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Row {
  std::string values;
  std::string default_value;
};

// The rows of the page's tables by their keys, `<part>` spelt out. A `|` in a cell is written \\|.
std::map<std::string, Row> DocumentedKeys() {
  std::map<std::string, Row> keys;
  const std::string page = Page();
  const std::string cell = R"(((?:[^|\\\n]|\\.)*)\|)";
  const std::regex row(R"(\n\| `([^`]+)` \|)" + cell + cell);
  for (std::sregex_iterator it(page.begin(), page.end(), row); it != std::sregex_iterator(); ++it) {
    const std::string key = (*it)[1];
    const auto text = [&it](int of) {
      return std::string(absl::StripAsciiWhitespace((*it)[of].str()));
    };
    const Row found{.values = text(2), .default_value = text(3)};
    const size_t part = key.find("<part>");
    if (part == key.npos) {
      keys.emplace(key, found);
      continue;
    }
    for (const char* name : {"dense", "sparse"}) {
      keys.emplace(std::string(key).replace(part, 6, name), found);
    }
  }
  return keys;
}

// A key with keys below it is a section, which the page describes by them, unless it may be a value
// as well. The optimizers of a table and of a group are described where optimizers are.
std::map<std::string, JobKey> LeafKeys() {
  const std::vector<JobKey> all = JobKeys();
  std::map<std::string, JobKey> leaves;
  constexpr char kOptimizer[] = "tables.<name>.optimizer";
  constexpr char kGroups[] = "optimizer.dense.groups";
  const std::string match = std::string(kGroups) + "[].match";
  const std::set<std::string> values = {"data.eval", "data.schema.numeric", kOptimizer, kGroups};
  for (const JobKey& each : all) {
    const std::string& key = each.key;
    if (key.starts_with(std::string(kOptimizer) + ".")) continue;
    if (key.starts_with(std::string(kGroups) + "[]") && key != match) continue;
    const bool section =
        !values.contains(key) && std::any_of(all.begin(), all.end(), [&key](const JobKey& other) {
          return other.key.starts_with(key + ".") || other.key.starts_with(key + "[]");
        });
    if (!section) leaves.emplace(key, each);
  }
  return leaves;
}

template <typename T>
std::set<std::string> NamesOf(const std::map<std::string, T>& keys) {
  std::set<std::string> names;
  for (const auto& [name, value] : keys) names.insert(name);
  return names;
}

// Whether `capstan config keys` tells the default that the key's row tells. In the row names of
// keys are `code`, and a `|` is written \\|.
bool HasDefault(const JobKey& key, const std::string& documented) {
  if (key.key == "model.preset") return documented == "required, or towers, or user";
  if (key.required || documented == "required") return key.required && documented == "required";
  return absl::StrReplaceAll(documented, {{"`", ""}, {"\\|", "|"}}) == key.default_value;
}

TEST(JobYamlPageTest, DocumentsEveryKeyAndNoOther) {
  EXPECT_EQ(NamesOf(DocumentedKeys()), NamesOf(LeafKeys()));
}

TEST(JobYamlPageTest, TellsTheValuesThatAKeyTakes) {
  const std::map<std::string, Row> page = DocumentedKeys();
  for (const auto& [name, key] : LeafKeys()) {
    const auto row = page.find(name);
    if (row == page.end()) continue;
    EXPECT_EQ(row->second.values, key.values)
        << name << ": tests/lint/job_keys.py writes it into the page";
  }
}

TEST(JobYamlPageTest, TellsTheDefaultOfAKey) {
  const std::map<std::string, Row> page = DocumentedKeys();
  for (const auto& [name, key] : LeafKeys()) {
    // The next test is about the settings of optimizers, whose defaults are those of their kind.
    const bool of_kind = name.starts_with("optimizer.") && name.find("schedule") == name.npos &&
                         !name.ends_with(".kind");
    const auto row = page.find(name);
    if (row == page.end() || of_kind) continue;
    EXPECT_TRUE(HasDefault(key, row->second.default_value))
        << name << ": the page says " << row->second.default_value << ", it is read with "
        << key.default_value;
  }
}

TEST(JobYamlPageTest, ItsExampleIsAGoodJob) {
  const std::string page = Page();
  const size_t begin = page.find("    job: ctr\n");
  ASSERT_NE(begin, page.npos);
  const std::string example = page.substr(begin, page.find("\n\n", begin) + 1 - begin);
  const auto spec = ParseJob({.text = std::regex_replace(example, std::regex("(^|\n)    "), "$1")});
  EXPECT_TRUE(spec.ok()) << spec.status();
}

TEST(JobYamlPageTest, WhatAnOptimizerInheritsIsToldAsThatAndNotAsANumber) {
  std::map<std::string, JobKey> keys;
  for (const JobKey& key : JobKeys()) keys.emplace(key.key, key);
  const std::string group = "optimizer.dense.groups[].";
  EXPECT_EQ(keys.at(group + "learning_rate").default_value, "optimizer.dense.learning_rate");
  EXPECT_EQ(keys.at(group + "nesterov").default_value, "optimizer.dense.nesterov");
  EXPECT_EQ(keys.at(group + "kind").default_value, "optimizer.dense.kind");
  EXPECT_EQ(keys.at("tables.<name>.optimizer.kind").default_value, "optimizer.sparse.kind");
  EXPECT_EQ(keys.at("tables.<name>.optimizer.learning_rate").default_value, "of the kind");
  EXPECT_EQ(keys.at("optimizer.sparse.momentum").default_value, "0.9");
  for (const std::string& of : {std::string("optimizer.dense."), group}) {
    EXPECT_THAT(keys.at(of + "kind").values, Not(HasSubstr("rowwise_adagrad"))) << of;
  }
}

// The cells of default and meaning of a key of an optimizer; empty: there are none.
std::string RowOf(absl::string_view key) {
  const std::string page = Page();
  const absl::string_view part = key == "kind" ? "sparse" : "<part>";
  const size_t begin = page.find(absl::StrCat("\n| `optimizer.", part, ".", key, "` |"));
  if (begin == page.npos) return "";
  const std::string row = page.substr(begin + 1, page.find('\n', begin + 1) - begin);
  const std::vector<std::string> cells = absl::StrSplit(row, absl::MaxSplits('|', 3));
  return cells.back();
}

bool HasNumber(const std::string& row, double wanted) {
  const std::vector<std::string> words = absl::StrSplit(row, absl::ByAnyChar(" ;|,:"));
  return std::any_of(words.begin(), words.end(), [wanted](const std::string& word) {
    double number = 0;
    return absl::SimpleAtod(word, &number) && number == wanted;
  });
}

TEST(JobYamlPageTest, TellsWhichSettingsAnOptimizerHasAndTheirDefaults) {
  for (const OptimizerDescription& optimizer : OptimizerDescriptions()) {
    if (optimizer.name.empty()) continue;
    const std::string name(optimizer.name);
    SCOPED_TRACE(name);
    EXPECT_THAT(RowOf("kind"), HasSubstr(absl::StrCat("`", name, "`")));
    const OptimizerDescription& sgd = *FindOptimizer(v1::OPTIMIZER_KIND_SGD);
    for (const OptimizerSetting& setting : optimizer.settings) {
      const std::string row = RowOf(setting.key);
      EXPECT_FALSE(row.empty()) << setting.key;
      EXPECT_TRUE(setting.default_value == 0 || HasNumber(row, setting.default_value)) << row;
      const bool of_all = sgd.FindSetting(setting.key) != nullptr;
      EXPECT_THAT(row, HasSubstr(of_all ? "" : name));
    }
    for (const OptimizerSwitch& of : optimizer.switches) {
      EXPECT_THAT(RowOf(of.key), HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace capstan
