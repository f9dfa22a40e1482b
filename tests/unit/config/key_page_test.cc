#include "capstan/config/key_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "tests/lib/source_folder.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string JobYamlPage() {
  std::ifstream file(SourceFolder() + "/docs/job-yaml.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(KeyPageTest, ThePageIsWhatTheKeysMake) {
  const std::string page = JobYamlPage();
  const absl::StatusOr<std::string> made = WithKeyTables(page);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(*made == page) << "run capstan config keys --page docs/job-yaml.md";
  if (*made == page) return;
  const auto differ = std::mismatch(made->begin(), made->end(), page.begin(), page.end());
  const size_t at = made->rfind('\n', differ.first - made->begin()) + 1;
  EXPECT_EQ(made->substr(at, made->find('\n', at) - at), page.substr(at, page.find('\n', at) - at));
}

TEST(KeyPageTest, TablesAreMadeAnewAndTheRestStays) {
  std::string page = JobYamlPage();
  page = absl::StrReplaceAll(page, {{"| `train.epochs` | 1 to 1M | 1 |", "| `train.laps` | 1 |"},
                                    {"# job.yaml\n", "# job.yaml, retold\n"}});
  const absl::StatusOr<std::string> made = WithKeyTables(page);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(*made, AllOf(HasSubstr("# job.yaml, retold\n"), Not(HasSubstr("train.laps")),
                           HasSubstr("\n| `train.epochs` | 1 to 1M | 1 | Passes over the data.")));
}

TEST(KeyPageTest, ARowHasValuesDefaultAndHelpOfItsKey) {
  const std::string page = JobYamlPage();
  EXPECT_THAT(page,
              HasSubstr("\n| `train.clip_norm` | a number, above 0 | | Bound of the norm of a "
                        "worker's whole gradient. |\n"));
  EXPECT_THAT(page, HasSubstr("\n| `data.features.<name>.separator` | a text | `\\|` | With"));
  EXPECT_THAT(page, HasSubstr("\n| `update.<part>.staleness` | 0 to 1M | required | ssp: "));
}

TEST(KeyPageTest, APageWithoutAPlaceForATableIsRefused) {
  const std::string line = "<!-- keys: train (made by capstan config keys --page) -->";
  const std::string page = JobYamlPage();
  for (const std::string& wrong :
       {absl::StrReplaceAll(page, {{line, ""}}), absl::StrReplaceAll(page, {{line, line + line}}),
        absl::StrReplaceAll(page, {{"<!-- end of keys -->", ""}})}) {
    const absl::StatusOr<std::string> made = WithKeyTables(wrong);
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(made.status().message()), HasSubstr("expected one line <!-- keys: "));
  }
}

TEST(PlainTextTest, HasNeitherTheMarksOfNamesNorThoseOfLinks) {
  EXPECT_EQ(PlainText("the name of a program ([Python](python.md#a)), `auc`; see [S3](s3.md)."),
            "the name of a program (Python), auc; see S3.");
  EXPECT_EQ(PlainText("a list such as [1, 2] (or one)"), "a list such as [1, 2] (or one)");
}

}  // namespace
}  // namespace capstan
