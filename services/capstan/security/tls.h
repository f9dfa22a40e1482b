// Mutual TLS: what both ends of a connection present, and what they require of each other.
#ifndef CAPSTAN_SECURITY_TLS_H_
#define CAPSTAN_SECURITY_TLS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/security/tls_identity.h"

namespace capstan {

// Each end accepts only certificates of the identity's authority and job. A client accepts only
// those of the role that it wants to reach, a server only calls that the client's role may make
// (MayCall). *Thread-safe*.
class Tls {
 public:
  // The files are read again every `refresh` (whole seconds), so that new connections use a renewed
  // certificate or authority without a restart.
  explicit Tls(TlsIdentity identity, absl::Duration refresh = absl::Seconds(10));

  // Loads the identity in `folder`. Returns null, which means plaintext, if `folder` is empty. The
  // errors are those of LoadTlsIdentity.
  static absl::StatusOr<std::unique_ptr<const Tls>> Load(const std::string& folder);

  const TlsIdentity& identity() const { return identity_; }

  std::shared_ptr<grpc::ServerCredentials> OfServer() const;

  // Returns credentials for a client of a process in the role `peer`. Sets in `arguments` the name
  // that the peer's certificate must have, whatever its address.
  std::shared_ptr<grpc::ChannelCredentials> OfChannel(Role peer,
                                                      grpc::ChannelArguments& arguments) const;

 private:
  const TlsIdentity identity_;
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface> files_;
};

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_TLS_H_
