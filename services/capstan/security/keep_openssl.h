// Keeps OpenSSL usable until the process has ended.
#ifndef CAPSTAN_SECURITY_KEEP_OPENSSL_H_
#define CAPSTAN_SECURITY_KEEP_OPENSSL_H_

#include <openssl/crypto.h>

namespace capstan {

// By default OpenSSL cleans up when the process exits, while threads of gRPC that cannot be joined
// still use it. After this call it does not. Must be called before any other function of OpenSSL.
// *Thread-safe*.
inline void KeepOpenSsl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_KEEP_OPENSSL_H_
