// docs/job-yaml.md names exactly the keys that there are, and what optimizers have of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
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

std::string Page() {
  std::ifstream file(SourceFolder() + "/docs/job-yaml.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The first cells of the page's tables, `<part>` spelt out.
std::set<std::string> DocumentedKeys() {
  std::set<std::string> keys;
  const std::string page = Page();
  const std::regex row("\n\\| `([^`]+)` \\|");
  for (std::sregex_iterator it(page.begin(), page.end(), row); it != std::sregex_iterator(); ++it) {
    const std::string key = (*it)[1];
    const size_t part = key.find("<part>");
    if (part == key.npos) {
      keys.insert(key);
      continue;
    }
    for (const char* name : {"dense", "sparse"})
      keys.insert(std::string(key).replace(part, 6, name));
  }
  return keys;
}

// A key with keys below it is a section, which the page describes by them, unless it may be a value
// as well. The optimizers of a table and of a group are described where optimizers are.
std::set<std::string> LeafKeys() {
  const std::vector<std::string> all = JobKeys();
  std::set<std::string> leaves;
  constexpr char kOptimizer[] = "tables.<name>.optimizer";
  constexpr char kGroups[] = "optimizer.dense.groups";
  const std::string match = std::string(kGroups) + "[].match";
  const std::set<std::string> values = {"data.eval", "data.schema.numeric", kOptimizer, kGroups};
  for (const std::string& key : all) {
    if (key.starts_with(std::string(kOptimizer) + ".")) continue;
    if (key.starts_with(std::string(kGroups) + "[]") && key != match) continue;
    const bool section = !values.contains(key) &&
                         std::any_of(all.begin(), all.end(), [&key](const std::string& other) {
                           return other.starts_with(key + ".") || other.starts_with(key + "[]");
                         });
    if (!section) leaves.insert(key);
  }
  return leaves;
}

TEST(JobYamlPageTest, DocumentsEveryKeyAndNoOther) { EXPECT_EQ(DocumentedKeys(), LeafKeys()); }

TEST(JobYamlPageTest, ItsExampleIsAGoodJob) {
  const std::string page = Page();
  const size_t begin = page.find("    job: ctr\n");
  ASSERT_NE(begin, page.npos);
  const std::string example = page.substr(begin, page.find("\n\n", begin) + 1 - begin);
  const auto spec = ParseJob({.text = std::regex_replace(example, std::regex("(^|\n)    "), "$1")});
  EXPECT_TRUE(spec.ok()) << spec.status();
}

// The row of a key of an optimizer; empty: there is none.
std::string RowOf(absl::string_view key) {
  const std::string page = Page();
  const size_t begin = page.find(absl::StrCat("\n| `optimizer.<part>.", key, "` |"));
  return begin == page.npos ? "" : page.substr(begin + 1, page.find('\n', begin + 1) - begin);
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
