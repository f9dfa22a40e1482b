#include "cli/serve/served_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The files of parameters are gone, so whoever reads one is told of lost data.
TEST(ServedModelTest, WhetherAProgramIsToComputeItIsCheckedBeforeAnyParameterIsRead) {
  const DeepFmFolder folder;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    if (name.find("partition-") == 0) files.push_back(entry.path());
  }
  ASSERT_THAT(files, Not(IsEmpty()));
  for (const std::filesystem::path& file : files) std::filesystem::remove(file);
  const auto model = ServedModel::Load(folder.path(), {.command = "true"});
  EXPECT_TRUE(absl::IsFailedPrecondition(model.status())) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("capstan computes this model"));
  EXPECT_TRUE(absl::IsDataLoss(ServedModel::Load(folder.path(), {}).status()));
}

}  // namespace
}  // namespace capstan::cli
