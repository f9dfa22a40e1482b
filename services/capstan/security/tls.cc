#include "capstan/security/tls.h"

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "capstan/security/keep_openssl.h"

namespace capstan {
namespace {

std::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// Checks for each call whether the client's certificate has a role that may make the call.
class RoleCheck : public grpc::AuthMetadataProcessor {
 public:
  explicit RoleCheck(std::string job) : job_(std::move(job)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    const auto path = metadata.find(":path");
    const std::string_view method = path == metadata.end() ? "" : View(path->second);
    std::vector<std::string> names;
    for (const grpc::string_ref& dns_name : context->FindPropertyValues("peer_dns")) {
      names.emplace_back(View(dns_name));
    }
    if (MayCall(names, job_, method)) return grpc::Status::OK;
    return {grpc::StatusCode::PERMISSION_DENIED, "the client's certificate names no role of job " +
                                                     job_ + " that may call " +
                                                     std::string(method)};
  }

 private:
  const std::string job_;
};

}  // namespace

namespace tls = grpc::experimental;

Tls::Tls(TlsIdentity identity, absl::Duration refresh)
    : identity_(std::move(identity)),
      files_(std::make_shared<tls::FileWatcherCertificateProvider>(
          identity_.key_file, identity_.certificate_file, identity_.authority_file,
          static_cast<unsigned>(absl::ToInt64Seconds(refresh)))) {}

absl::StatusOr<std::unique_ptr<const Tls>> Tls::Load(const std::string& folder) {
  if (folder.empty()) return nullptr;
  KeepOpenSsl();
  CAPSTAN_ASSIGN_OR_RETURN(TlsIdentity identity, LoadTlsIdentity(folder, absl::Now()));
  return std::make_unique<const Tls>(std::move(identity));
}

std::shared_ptr<grpc::ServerCredentials> Tls::OfServer() const {
  tls::TlsServerCredentialsOptions options(files_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials = tls::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<RoleCheck>(identity_.job()));
  return credentials;
}

std::shared_ptr<grpc::ChannelCredentials> Tls::OfChannel(Role peer,
                                                         grpc::ChannelArguments& arguments) const {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(files_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::make_shared<tls::HostNameCertificateVerifier>());
  arguments.SetSslTargetNameOverride(DnsNameOf({peer, identity_.job()}));
  return tls::TlsCredentials(options);
}

}  // namespace capstan
