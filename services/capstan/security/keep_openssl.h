// OpenSSL's end in a process.
#ifndef CAPSTAN_SECURITY_KEEP_OPENSSL_H_
#define CAPSTAN_SECURITY_KEEP_OPENSSL_H_

#include <openssl/crypto.h>

namespace capstan {

// By itself OpenSSL takes itself down when the process exits, while threads of gRPC that nobody can
// join still use it. After this it stays. To be called before anything else of OpenSSL is.
// *Thread-safe*.
inline void KeepOpenSsl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_KEEP_OPENSSL_H_
