// A kubectl that is a script of the test.
#ifndef CAPSTAN_TESTS_UNIT_CLI_STATUS_FAKE_KUBECTL_H_
#define CAPSTAN_TESTS_UNIT_CLI_STATUS_FAKE_KUBECTL_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {

// It is the first kubectl in PATH until this object is destroyed. Its words are "$@" of the script.
class FakeKubectl {
 public:
  explicit FakeKubectl(const std::string& script) {
    const char* before = std::getenv("PATH");
    if (before != nullptr) before_ = before;
    Do(script);
    setenv("PATH", absl::StrCat(folder_.path(), ":/usr/bin:/bin").c_str(), 1);
  }
  ~FakeKubectl() { setenv("PATH", before_.c_str(), 1); }
  FakeKubectl(const FakeKubectl&) = delete;

  // From its next start on it does this.
  void Do(const std::string& script) const {
    const std::string path = folder_.Write("kubectl", absl::StrCat("#!/bin/sh\n", script, "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  // A file that the script may look for, and how it comes there.
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  void Leave(const std::string& name) const { folder_.Write(name, ""); }

 private:
  const TestFolder folder_;
  std::string before_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_STATUS_FAKE_KUBECTL_H_
