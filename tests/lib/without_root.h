// Root may read and write every file: a test of one that may not be read would find nothing.
#ifndef CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_
#define CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_

#include <unistd.h>

#include "capstan/base/check.h"

namespace capstan {

// While it exists a process that root has started, and all of its threads, have the rights of a
// user who owns nothing. Any other process stays as it is.
class WithoutRoot {
 public:
  WithoutRoot() { Become(kNobody); }
  ~WithoutRoot() { Become(kRoot); }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t kRoot = 0;
  static constexpr uid_t kNobody = 65534;

  void Become(uid_t user) const {
    // Root stays the saved user, to whom the process may return.
    if (was_root_) CAPSTAN_CHECK(setresuid(user, user, kRoot) == 0);
  }

  const bool was_root_ = geteuid() == kRoot;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_
