// Keeps OpenSSL from ending before a process does.
#ifndef CAPSTAN_SECURITY_KEEP_OPENSSL_H_
#define CAPSTAN_SECURITY_KEEP_OPENSSL_H_

#include <openssl/crypto.h>

namespace capstan {

// By default OpenSSL cleans itself up when the process exits, while threads of gRPC that nobody can
// join still use it. After this call it does not. To be called before anything else of OpenSSL is.
// *Thread-safe*.
inline void KeepOpenSsl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_KEEP_OPENSSL_H_
