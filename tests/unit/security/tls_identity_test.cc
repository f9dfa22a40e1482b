#include "capstan/security/tls_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/lib/test_authority.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TlsIdentityTest : public testing::Test {
 protected:
  TlsIdentityTest() { authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan"}}); }

  // Why the folder is refused.
  std::string WhyRefused() const {
    const auto identity = LoadTlsIdentity(folder_.string(), absl::Now());
    EXPECT_EQ(identity.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(identity.status().message());
  }

  const TestAuthority authority_;
  const TestFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(TlsIdentityTest, TellsTheRolesTheJobAndTheEnd) {
  const absl::Time until = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 5000);
  authority_.Issue(folder_, {.dns_names = {"worker.ctr.capstan", "admin.ctr.capstan", "pod-1.ns"},
                             .until = until});
  const auto identity = LoadTlsIdentity(folder_.string(), absl::Now());
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_THAT(identity->names,
              ElementsAre(PeerName{Role::kWorker, "ctr"}, PeerName{Role::kAdmin, "ctr"}));
  EXPECT_EQ(identity->job(), "ctr");
  EXPECT_EQ(identity->expires, until);
}

TEST_F(TlsIdentityTest, AFileThatIsMissingOrNoPemIsNamed) {
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan"}});
    std::ofstream(folder_ / file) << "-----BEGIN NONSENSE-----\n";
    EXPECT_THAT(WhyRefused(), AllOf(HasSubstr(file), HasSubstr("PEM")));
    std::filesystem::remove(folder_ / file);
    EXPECT_THAT(WhyRefused(), AllOf(HasSubstr(file), HasSubstr("No such file")));
  }
}

TEST_F(TlsIdentityTest, AKeyThatEverybodyMayReadIsRefused) {
  std::filesystem::permissions(folder_ / "tls.key", std::filesystem::perms{0644});
  EXPECT_THAT(WhyRefused(), AllOf(HasSubstr("tls.key"), HasSubstr("everybody")));
}

TEST_F(TlsIdentityTest, AnotherCertificatesKeyIsRefused) {
  authority_.Issue(folder_ / "other", {.dns_names = {"ps.ctr.capstan"}});
  std::filesystem::rename(folder_ / "other/tls.key", folder_ / "tls.key");
  EXPECT_THAT(WhyRefused(), HasSubstr("tls.key: is not the key of tls.crt"));
}

TEST_F(TlsIdentityTest, AnotherAuthoritysCertificateIsRefused) {
  TestAuthority().Issue(folder_ / "other", {.dns_names = {"ps.ctr.capstan"}});
  std::filesystem::rename(folder_ / "other/ca.crt", folder_ / "ca.crt");
  EXPECT_THAT(WhyRefused(), HasSubstr("tls.crt: unable to get local issuer certificate"));
}

TEST_F(TlsIdentityTest, ACertificateIsGoodInItsTimeOnly) {
  const absl::Time now = absl::Now();
  authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan"}, .until = now - absl::Minutes(1)});
  EXPECT_THAT(WhyRefused(), HasSubstr("tls.crt: certificate has expired"));
  authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan"}, .from = now + absl::Minutes(1)});
  EXPECT_THAT(WhyRefused(), HasSubstr("tls.crt: certificate is not yet valid"));
}

TEST_F(TlsIdentityTest, TheEndIsThatOfTheFileAsItStands) {
  const std::string file = (folder_ / "tls.crt").string();
  const absl::Time later = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 90'000);
  EXPECT_LT(CertificateEnd(file), later);
  authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan"}, .until = later});
  EXPECT_EQ(CertificateEnd(file), later);
  std::filesystem::remove(file);
  EXPECT_EQ(CertificateEnd(file), absl::InfinitePast());
}

TEST_F(TlsIdentityTest, ACertificateNamesRolesOfOneJob) {
  authority_.Issue(folder_, {.dns_names = {"pod-1.ns.svc"}});
  EXPECT_THAT(WhyRefused(), HasSubstr("ROLE.JOB.capstan"));
  authority_.Issue(folder_, {});
  EXPECT_THAT(WhyRefused(), HasSubstr("ROLE.JOB.capstan"));
  authority_.Issue(folder_, {.dns_names = {"ps.ctr.capstan", "ps.other.capstan"}});
  EXPECT_THAT(WhyRefused(), HasSubstr("two jobs, ctr and other"));
}

}  // namespace
}  // namespace capstan
