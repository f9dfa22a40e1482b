#include "capstan/base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// One test: a process has one trace, from when it is opened.
TEST(TraceTest, EventsAreLinesOfJsonFromWhenItIsOpened) {
  const TestFolder folder;
  const std::string path = folder.Path("ps-1.trace");
  EXPECT_FALSE(trace::On());
  trace::Write("before", {{"n", 1}});
  EXPECT_TRUE(absl::IsUnavailable(trace::Open(folder.Path("no/such/folder"), "ps-1")));
  EXPECT_FALSE(trace::On());

  ASSERT_TRUE(trace::Open(path, "ps-1").ok());
  EXPECT_TRUE(trace::On());
  trace::Write("pushed", {{"partition", 3}, {"push", "41:7"}});
  trace::Write("follows", {});
  EXPECT_THAT(LinesOf(path),
              ElementsAre(MatchesRegex(R"(\{"at":[0-9]+,"by":"ps-1","event":"pushed",)"
                                       R"("partition":3,"push":"41:7"\})"),
                          MatchesRegex(R"(\{"at":[0-9]+,"by":"ps-1","event":"follows"\})")));

  ASSERT_TRUE(trace::Open(path, "ps-1").ok()) << "as a process that was started again";
  trace::Write("follows", {});
  EXPECT_EQ(LinesOf(path).size(), 3u) << "what was there stays";
}

}  // namespace
}  // namespace capstan
