#include "cli/terminal/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

using ::testing::ElementsAre;

TEST(TextTableTest, AlignsColumnsByTheirWidestCell) {
  TextTable table({"who", ">rate", "note"});
  table.AddRow({"worker-10", "7", ""});
  table.AddRow({"w", "12.3 k", "\x1b[33mslow\x1b[0m"});
  EXPECT_THAT(table.Lines(),
              ElementsAre("who          rate  note",  //
                          "worker-10       7", "w          12.3 k  \x1b[33mslow\x1b[0m"));
}

}  // namespace
}  // namespace capstan::cli
