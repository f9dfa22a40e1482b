// What docs/job-yaml.md tells beside its tables, which key_page_test.cc compares with the keys, and
// what it tells of optimizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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
  EXPECT_EQ(keys.at(group + "learning_rate").default_value, "`optimizer.dense.learning_rate`");
  EXPECT_EQ(keys.at(group + "nesterov").default_value, "`optimizer.dense.nesterov`");
  EXPECT_EQ(keys.at(group + "kind").default_value, "`optimizer.dense.kind`");
  EXPECT_EQ(keys.at("tables.<name>.optimizer.kind").default_value, "`optimizer.sparse.kind`");
  EXPECT_EQ(
      keys.at("tables.<name>.optimizer.learning_rate").default_value,
      "sgd, momentum: 0.01; adagrad, rowwise_adagrad, ftrl: 0.05; adam, adamw, rmsprop: 0.001");
  EXPECT_EQ(keys.at("optimizer.sparse.epsilon").default_value,
            "1e-8; adagrad, rowwise_adagrad: 1e-10");
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
