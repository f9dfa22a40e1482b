// Lets a test run without root's rights. Root may read and write every file, so a test of a file
// that may not be read would be useless.
#ifndef CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_
#define CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_

#include <unistd.h>

#include "capstan/base/check.h"

namespace capstan {

// While this object exists, a process that root has started has, in all of its threads, the rights
// of a user who owns nothing. It changes nothing in a process that another user has started.
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
    // Root stays the saved user, so that the process can become root again.
    if (was_root_) CAPSTAN_CHECK(setresuid(user, user, kRoot) == 0);
  }

  const bool was_root_ = geteuid() == kRoot;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_WITHOUT_ROOT_H_
