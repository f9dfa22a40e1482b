// The identity of a process: the folder with its certificate.
#ifndef CAPSTAN_SECURITY_TLS_IDENTITY_H_
#define CAPSTAN_SECURITY_TLS_IDENTITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/security/role.h"

namespace capstan {

// The files in a folder as Kubernetes mounts a secret of the type kubernetes.io/tls: `tls.crt` (the
// process's certificate, then the intermediate ones up to the authority), `tls.key`, and `ca.crt`,
// the authority that certifies all processes of the job.
struct TlsIdentity {
  std::string certificate_file;
  std::string key_file;
  std::string authority_file;
  std::vector<PeerName> names;  // At least one; all of one job.
  absl::Time expires;

  const std::string& job() const { return names.front().job; }
};

// Reads the folder. INVALID_ARGUMENT, with the file: it is missing or not PEM; the key is readable
// by everybody or belongs to another certificate; the certificate is not issued by the authority,
// is expired or not yet valid at `now`, or names no role, or roles of several jobs.
absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder, absl::Time now);

// Reads the file and returns when its certificate expires; InfinitePast if it cannot be read.
absl::Time CertificateEnd(const std::string& certificate_file);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_TLS_IDENTITY_H_
