#include "tests/lib/test_authority.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "capstan/security/keep_openssl.h"

namespace capstan {
namespace {

// Returns a new key. A test uses this before anything else of OpenSSL, hence KeepOpenSsl().
std::shared_ptr<EVP_PKEY> NewKey() {
  KeepOpenSsl();
  return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  CAPSTAN_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Returns a certificate for `key` with the times of `wanted`, which is not signed yet.
std::shared_ptr<X509> NewCertificate(EVP_PKEY* key, const std::string& common_name,
                                     const TestCertificate& wanted) {
  static int serial = 0;
  std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(wanted.from));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(wanted.until));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

// Replaces the file as a whole, as a process may read the folder at any time.
template <typename Write>
void WritePem(const std::filesystem::path& path, const Write& write) {
  const std::string fresh = path.string() + ".new";
  FILE* file = std::fopen(fresh.c_str(), "w");
  CAPSTAN_CHECK(file != nullptr);
  CAPSTAN_CHECK(write(file) == 1);
  std::fclose(file);
  std::filesystem::permissions(fresh, std::filesystem::perms{0600});
  std::filesystem::rename(fresh, path);
}

}  // namespace

TestAuthority::TestAuthority() : key_(NewKey()) {
  static int count = 0;
  root_ = NewCertificate(key_.get(), absl::StrCat("authority ", ++count), {});
  X509_set_issuer_name(root_.get(), X509_get_subject_name(root_.get()));
  AddExtension(root_.get(), root_.get(), NID_basic_constraints, "critical,CA:TRUE");
  CAPSTAN_CHECK(X509_sign(root_.get(), key_.get(), EVP_sha256()) > 0);
}

void TestAuthority::Issue(const std::filesystem::path& folder,
                          const TestCertificate& certificate) const {
  std::filesystem::create_directories(folder);
  const std::shared_ptr<EVP_PKEY> key = NewKey();
  const std::shared_ptr<X509> leaf = NewCertificate(key.get(), "leaf", certificate);
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(root_.get()));
  if (!certificate.dns_names.empty()) {
    AddExtension(leaf.get(), root_.get(), NID_subject_alt_name,
                 absl::StrCat("DNS:", absl::StrJoin(certificate.dns_names, ",DNS:")));
  }
  CAPSTAN_CHECK(X509_sign(leaf.get(), key_.get(), EVP_sha256()) > 0);
  WritePem(folder / "tls.key", [&key](FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  WritePem(folder / "tls.crt", [&leaf](FILE* file) { return PEM_write_X509(file, leaf.get()); });
  WritePem(folder / "ca.crt", [this](FILE* file) { return PEM_write_X509(file, root_.get()); });
}

}  // namespace capstan
