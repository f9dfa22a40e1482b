#include "capstan/process/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace capstan {
namespace {

using testing::HasSubstr;

// A service that is called with these arguments.
class FlagsTest : public testing::Test {
 protected:
  std::optional<int> Parse(std::vector<std::string> arguments) {
    CLI::App app("a service", "capstan-ps");
    AddServiceFlags(app, "ps", options_);
    arguments.insert(arguments.begin(), "capstan-ps");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const std::optional<int> exit = ParseFlags(app, static_cast<int>(argv.size()), argv.data());
    said_ = testing::internal::GetCapturedStdout();
    complained_ = testing::internal::GetCapturedStderr();
    return exit;
  }

  ServiceOptions options_;
  std::string said_;
  std::string complained_;
};

TEST_F(FlagsTest, WithoutFlagsTheDefaultsStay) {
  EXPECT_EQ(Parse({}), std::nullopt);
  EXPECT_EQ(options_.health_port, 7001);
  EXPECT_EQ(options_.metrics_port, 9090);
  EXPECT_EQ(options_.log_format, "text");
  EXPECT_FALSE(options_.core_dumps);
}

TEST_F(FlagsTest, EachFlagIsForItsOwnOption) {
  EXPECT_EQ(
      Parse({"--health-port", "0", "--metrics-port=65535", "--ports-file", "/run/ports",
             "--log-format", "json", "--trace", "/run/trace", "--core-dumps", "--tls", "/etc/tls"}),
      std::nullopt)
      << complained_;
  EXPECT_EQ(options_.health_port, 0);
  EXPECT_EQ(options_.metrics_port, 65535);
  EXPECT_EQ(options_.ports_file, "/run/ports");
  EXPECT_EQ(options_.log_format, "json");
  EXPECT_EQ(options_.trace, "/run/trace");
  EXPECT_TRUE(options_.core_dumps);
  EXPECT_EQ(options_.tls, "/etc/tls");
}

TEST_F(FlagsTest, AMistakeEndsTheProcessWithTwoAndNamesTheFlag) {
  for (const auto& mistake : std::vector<std::vector<std::string>>{{"--health-port", "65536"},
                                                                   {"--health-port=-1"},
                                                                   {"--health-port", "x"},
                                                                   {"--health-port"}}) {
    EXPECT_EQ(Parse(mistake), 2);
    EXPECT_THAT(said_ + complained_, HasSubstr("--health-port"));
  }
  EXPECT_EQ(Parse({"--log-format", "xml"}), 2);
  EXPECT_THAT(said_ + complained_, HasSubstr("--log-format"));
  EXPECT_EQ(Parse({"--no-such-flag"}), 2);
}

TEST_F(FlagsTest, HelpAndVersionAreNoMistakes) {
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_THAT(said_, HasSubstr("--metrics-port"));
  EXPECT_EQ(Parse({"--version"}), 0);
  EXPECT_THAT(said_, HasSubstr("ps"));
}

TEST(AddressMistakeTest, AnAddressIsAHostAndAPort) {
  for (const char* address : {"host:0", "10.0.0.7:65535", "[::1]:7000"}) {
    EXPECT_EQ(AddressMistake(address), "") << address;
  }
  EXPECT_EQ(AddressMistake("host:65536"),
            "host:65536 is not host:port, with a port from 0 to 65535");
  for (const char* address : {"", "host", ":", "host:", "host:-1", "host:7x", "host:+7"}) {
    EXPECT_THAT(AddressMistake(address), HasSubstr("is not host:port")) << address;
  }
}

}  // namespace
}  // namespace capstan
