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
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
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

// Defaults that depend on other keys or on the data, which the page tells in words.
const std::map<std::string, std::string>& DefaultsInWords() {
  static const auto& words = *new std::map<std::string, std::string>{
      {"data.features.<name>.separator", "`\\|`"},
      {"data.features.<name>.table", "the feature's name"},
      {"data.fields", "varies"},
      {"data.image.label", "cls; image/class/label"},
      {"data.image.member", "jpg, jpeg, png; image/encoded"},
      {"data.image_shape", "from the file"},
      {"data.label_deviation", "measured"},
      {"data.label_mean", "measured"},
      {"data.label_threshold", ""},
      {"data.numeric_scale", "1; images: 1/255"},
      {"data.schema.label", "0"},
      {"data.schema.labels.<name>.loss", "of `model.loss`"},
      {"data.schema.numeric[].deviation", "measured"},
      {"data.schema.numeric[].mean", "measured"},
      {"data.synthetic.vocabulary", "39 columns"},
      {"data.task_bytes", "chosen"},
      {"data.task_records", "chosen"},
      {"model.activation", "relu"},
      {"model.cross_layers", "3"},
      {"model.hidden", "of the preset"},
      {"model.loss", "of the preset"},
      {"model.outputs", "1; softmax: the named classes"},
      {"model.preset", "required, or towers, or user"},
      {"model.towers[].activation", "`model.activation`"},
      {"model.towers[].batch_norm", "`model.batch_norm`"},
      {"model.towers[].dropout", "`model.dropout`"},
      {"model.towers[].hidden", "of the kind"},
      {"model.towers[].layers", "of the kind"},
      {"model.towers[].name", "the kind"},
      {"tables.<name>.admission_count", "`table.admission_count`"},
      {"tables.<name>.byte_budget", "`table.byte_budget`"},
      {"tables.<name>.dim", "`model.embedding_dim`"},
      {"tables.<name>.expire_after_examples", "`table.expire_after_examples`"},
      {"tables.<name>.optimizer", "`optimizer.sparse`"},
      {"train.evaluate_every_examples", "each epoch"},
      {"update.dense.lanes", "`capstan train`: the workers"},
      {"update.sparse.lanes", "`capstan train`: the workers"},
  };
  return words;
}

// Whether a key is read with the default that its row tells.
bool HasDefault(const JobKey& key, const std::string& documented) {
  if (key.required || documented == "required") return key.required && documented == "required";
  const auto words = DefaultsInWords().find(key.key);
  if (words != DefaultsInWords().end()) return documented == words->second;
  return documented == key.default_value;
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
    const bool of_kind = name.starts_with("optimizer.") && name.find("schedule") == name.npos;
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

// The cells of default and meaning of a key of an optimizer; empty: there are none.
std::string RowOf(absl::string_view key) {
  const std::string page = Page();
  const size_t begin = page.find(absl::StrCat("\n| `optimizer.<part>.", key, "` |"));
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
