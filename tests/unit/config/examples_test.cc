// The jobs in deploy/examples are good ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "capstan/config/config.h"
#include "tests/lib/source_folder.h"

namespace capstan {
namespace {

TEST(ExamplesTest, EveryExampleIsAGoodJob) {
  const std::filesystem::path folder = SourceFolder() + "/deploy/examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no deploy/examples here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto spec =
        ParseJob({.text = text, .name = entry.path().filename()}, {.default_lanes = 3});
    EXPECT_TRUE(spec.ok()) << spec.status();
  }
}

}  // namespace
}  // namespace capstan
