#include "capstan/base/ports_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

class PortsFileTest : public testing::Test {
 protected:
  const TestFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
  const std::string path_ = folder_ / "ports.json";
};

TEST_F(PortsFileTest, IsReadAsItWasWritten) {
  const Ports ports{.data = 41001, .health = 41002, .metrics = 65535};
  ASSERT_TRUE(WritePortsFile(path_, ports).ok());
  const auto read = ReadPortsFile(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, ports);
}

TEST_F(PortsFileTest, IsJsonForOtherReaders) {
  ASSERT_TRUE(WritePortsFile(path_, {.data = 1, .health = 2, .metrics = 3}).ok());
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "{\"data\": 1, \"health\": 2, \"metrics\": 3}\n");
}

TEST_F(PortsFileTest, IsReplacedAndLeavesNothingBeside) {
  ASSERT_TRUE(WritePortsFile(path_, {.data = 1}).ok());
  ASSERT_TRUE(WritePortsFile(path_, {.data = 2}).ok());
  EXPECT_EQ(ReadPortsFile(path_)->data, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(PortsFileTest, IsNotFoundBeforeItIsWritten) {
  EXPECT_TRUE(absl::IsNotFound(ReadPortsFile(path_).status()));
}

TEST_F(PortsFileTest, IsRefusedWhenItIsSomethingElse) {
  for (const char* text :
       {"", "{", "[]", "{\"data\": 70000}", "{\"data\": -1}", "{\"data\"}", "{\"data\": 1x}"}) {
    std::ofstream(path_) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadPortsFile(path_).status())) << text;
  }
}

TEST_F(PortsFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(WritePortsFile(folder_ / "absent" / "ports.json", {.data = 1}).ok());
}

}  // namespace
}  // namespace capstan
