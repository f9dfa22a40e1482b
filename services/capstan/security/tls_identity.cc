#include "capstan/security/tls_identity.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using Check = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using AltNames = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

absl::Status Bad(const std::string& file, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
}

absl::StatusOr<std::string> Read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Bad(file, strerror(errno));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// Returns all certificates of the file, in order.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& file) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, Read(file));
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  std::vector<Certificate> certificates;
  while (X509* next = PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  if (certificates.empty()) return Bad(file, "holds no certificate in PEM");
  return certificates;
}

absl::StatusOr<Key> ReadKey(const std::string& file) {
  struct stat facts;
  if (stat(file.c_str(), &facts) != 0) return Bad(file, strerror(errno));
  if ((facts.st_mode & S_IRWXO) != 0) {
    return Bad(file, "everybody may read the key; expected mode 0600 or 0640");
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, Read(file));
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
  if (key == nullptr) return Bad(file, "holds no private key in PEM without a password");
  return key;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? absl::FromTM(parts, absl::UTCTimeZone())
                                            : absl::InfinitePast();
}

std::vector<PeerName> NamesOf(X509* certificate) {
  std::vector<PeerName> names;
  const AltNames all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS) continue;
    const std::string_view text(
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
        static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    if (const auto peer = ParseDnsName(text)) names.push_back(*peer);
  }
  return names;
}

// Returns true if the authority has certified the first of the chain, at `now`.
absl::Status VerifyChain(const std::vector<Certificate>& chain,
                         const std::vector<Certificate>& authority, const std::string& file,
                         absl::Time now) {
  const Store trusted(X509_STORE_new());
  for (const Certificate& root : authority) X509_STORE_add_cert(trusted.get(), root.get());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(between, chain[i].get());
  const Check check(X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), trusted.get(), chain.front().get(), between);
  X509_STORE_CTX_set_time(check.get(), 0, absl::ToTimeT(now));
  const bool good = X509_verify_cert(check.get()) == 1;
  sk_X509_free(between);
  if (good) return absl::OkStatus();
  return Bad(file, X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
}

}  // namespace

absl::Time CertificateEnd(const std::string& certificate_file) {
  const auto chain = ReadCertificates(certificate_file);
  return chain.ok() ? TimeOf(X509_get0_notAfter(chain->front().get())) : absl::InfinitePast();
}

absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder, absl::Time now) {
  TlsIdentity identity{.certificate_file = folder + "/tls.crt",
                       .key_file = folder + "/tls.key",
                       .authority_file = folder + "/ca.crt"};
  CAPSTAN_ASSIGN_OR_RETURN(const auto chain, ReadCertificates(identity.certificate_file));
  CAPSTAN_ASSIGN_OR_RETURN(const auto authority, ReadCertificates(identity.authority_file));
  CAPSTAN_ASSIGN_OR_RETURN(const Key key, ReadKey(identity.key_file));
  X509* const own = chain.front().get();
  if (X509_check_private_key(own, key.get()) != 1) {
    return Bad(identity.key_file, "is not the key of tls.crt");
  }
  CAPSTAN_RETURN_IF_ERROR(VerifyChain(chain, authority, identity.certificate_file, now));
  identity.expires = TimeOf(X509_get0_notAfter(own));
  identity.names = NamesOf(own);
  if (identity.names.empty()) {
    return Bad(
        identity.certificate_file,
        "has no DNS name of the form ROLE.JOB.capstan, with a role of chief, ps, worker, admin");
  }
  for (const PeerName& name : identity.names) {
    if (name.job != identity.job()) {
      return Bad(identity.certificate_file,
                 absl::StrCat("is of two jobs, ", identity.job(), " and ", name.job));
    }
  }
  return identity;
}

}  // namespace capstan
