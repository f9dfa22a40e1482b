#include "capstan/process/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/log.h"
#include "tests/lib/test_authority.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kHost[] = "127.0.0.1";

// A process whose ports are any that are free, unless a test says otherwise.
class ServiceTest : public testing::Test {
 protected:
  ~ServiceTest() override { log::Init({}); }

  const TestFolder folder_;
  ServiceOptions options_ = {.health_port = 0, .metrics_port = 0};
  metrics::Registry registry_;
};

TEST_F(ServiceTest, AProcessWithoutCertificatesSpeaksPlaintext) {
  options_.core_dumps = true;
  const auto tls = SetUpProcess(options_, "ps");
  ASSERT_TRUE(tls.ok()) << tls.status();
  EXPECT_EQ(*tls, nullptr);
}

TEST_F(ServiceTest, ItsLogNamesTheProcessAndOtherwiseItsRole) {
  options_.core_dumps = true;
  const auto line_of = [this](const std::string& id) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(SetUpProcess(options_, "ps", id).ok());
    log::Info("hello");
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(line_of("ps-3"), HasSubstr(" ps-3 hello"));
  EXPECT_THAT(line_of(""), HasSubstr(" ps hello"));
  options_.log_format = "json";
  EXPECT_THAT(line_of("ps-3"), HasSubstr("\"role\":\"ps\",\"id\":\"ps-3\""));
}

TEST_F(ServiceTest, WhatCannotBeSetUpIsSaid) {
  ServiceOptions format = options_;
  format.log_format = "xml";
  EXPECT_TRUE(absl::IsInvalidArgument(SetUpProcess(format, "ps").status()));
  ServiceOptions tls = options_;
  tls.core_dumps = true;
  tls.tls = folder_.Path("none");
  const absl::Status missing = SetUpProcess(tls, "ps").status();
  EXPECT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.message()), HasSubstr(tls.tls));
  ServiceOptions trace = options_;
  trace.core_dumps = true;
  trace.trace = folder_.Path("none/trace");
  const absl::Status closed = SetUpProcess(trace, "ps").status();
  EXPECT_TRUE(absl::IsUnavailable(closed)) << closed;
}

// The limit lasts as long as the process, so it is set in one of its own.
TEST_F(ServiceTest, CoreDumpsAreForbiddenUnlessTheyAreAskedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto limit = [] {
    rlimit size{};
    getrlimit(RLIMIT_CORE, &size);
    return size.rlim_cur;
  };
  EXPECT_EXIT(
      {
        const rlim_t before = limit();
        options_.core_dumps = true;
        bool as_told = SetUpProcess(options_, "ps").ok() && limit() == before;
        options_.core_dumps = false;
        as_told = as_told && SetUpProcess(options_, "ps").ok() && limit() <= 1;
        _exit(as_told ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ServiceTest, EveryProcessTellsItsVersionAndItsUseAndOfNoCertificateThatItHasNot) {
  MeasureProcess(registry_, /*tls=*/nullptr);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("capstan_build_info"));
  EXPECT_THAT(text, HasSubstr("capstan_process_cpu_seconds_total"));
  EXPECT_THAT(text, Not(HasSubstr("capstan_tls_certificate")));
}

TEST_F(ServiceTest, WithACertificateItTellsWhenThatEndsAndZeroOnceItsFileCannotBeRead) {
  const absl::Time until = absl::FromUnixSeconds(2'000'000'000);
  TestAuthority().Issue(folder_.path(), {.dns_names = {"ps"}, .until = until});
  const Tls tls(TlsIdentity{.certificate_file = folder_.Path("tls.crt"),
                            .key_file = folder_.Path("tls.key"),
                            .authority_file = folder_.Path("ca.crt")});
  MeasureProcess(registry_, &tls);
  const auto end = [this] {
    const std::string text = registry_.Text();
    const std::string name = "\ncapstan_tls_certificate_expiry_timestamp_seconds ";
    const size_t at = text.find(name);
    return at == text.npos ? -1. : std::strtod(text.c_str() + at + name.size(), nullptr);
  };
  EXPECT_EQ(end(), 2e9);
  std::filesystem::remove(folder_.Path("tls.crt"));
  EXPECT_EQ(end(), 0);
}

TEST_F(ServiceTest, ThePortsAreToldToWhoeverStartedTheProcess) {
  options_.ports_file = folder_.Path("ports");
  const auto side = SidePorts::Open(kHost, options_, registry_);
  ASSERT_TRUE(side.ok()) << side.status();
  EXPECT_FALSE(std::filesystem::exists(options_.ports_file)) << "its service is not open yet";
  const auto told = side->Tell(/*data=*/41001);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->data, 41001);
  EXPECT_EQ(told->health, side->health().port());
  EXPECT_GT(told->metrics, 0);
  EXPECT_NE(told->metrics, told->health);
  EXPECT_EQ(ReadPortsFile(options_.ports_file).value(), *told);
}

TEST_F(ServiceTest, WithoutAFileThePortsAreReturnedAlone) {
  const auto side = SidePorts::Open(kHost, options_, registry_);
  ASSERT_TRUE(side.ok()) << side.status();
  EXPECT_EQ(side->Tell(0).value().data, 0);
}

TEST_F(ServiceTest, APortsFileThatCannotBeWrittenIsAnError) {
  options_.ports_file = folder_.Path("none/ports");
  const auto side = SidePorts::Open(kHost, options_, registry_);
  ASSERT_TRUE(side.ok()) << side.status();
  EXPECT_FALSE(side->Tell(0).ok());
}

TEST_F(ServiceTest, APortThatIsTakenIsNamed) {
  const auto first = SidePorts::Open(kHost, options_, registry_);
  ASSERT_TRUE(first.ok()) << first.status();
  const Ports taken = first->Tell(0).value();
  for (const bool health : {true, false}) {
    ServiceOptions same = options_;
    (health ? same.health_port : same.metrics_port) = health ? taken.health : taken.metrics;
    const absl::Status refused = SidePorts::Open(kHost, same, registry_).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(absl::StrCat(health ? taken.health : taken.metrics)));
  }
}

}  // namespace
}  // namespace capstan
