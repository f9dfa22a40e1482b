// A certificate authority for tests, which writes folders of certificates as Capstan's processes
// read them.
#ifndef CAPSTAN_TESTS_LIB_TEST_AUTHORITY_H_
#define CAPSTAN_TESTS_LIB_TEST_AUTHORITY_H_

#include <openssl/x509.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace capstan {

struct TestCertificate {
  std::vector<std::string> dns_names;
  absl::Time from = absl::Now() - absl::Hours(1);
  absl::Time until = absl::Now() + absl::Hours(1);
};

class TestAuthority {
 public:
  TestAuthority();

  // Writes tls.crt, tls.key (mode 0600) and ca.crt into `folder`, replacing existing files.
  void Issue(const std::filesystem::path& folder, const TestCertificate& certificate) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> root_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_TEST_AUTHORITY_H_
