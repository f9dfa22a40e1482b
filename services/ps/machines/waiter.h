// A WaiterId identifies a caller that is answered later: an open RPC, which the shell holds.
#ifndef CAPSTAN_PS_MACHINES_WAITER_H_
#define CAPSTAN_PS_MACHINES_WAITER_H_

#include <cstdint>

namespace capstan::ps {

enum class WaiterId : uint64_t {};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_WAITER_H_
