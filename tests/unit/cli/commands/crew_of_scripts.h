// The programs of a crew as scripts, for tests of the commands that start one.
#ifndef CAPSTAN_TESTS_UNIT_CLI_COMMANDS_CREW_OF_SCRIPTS_H_
#define CAPSTAN_TESTS_UNIT_CLI_COMMANDS_CREW_OF_SCRIPTS_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {

class CrewOfScripts {
 public:
  CrewOfScripts() {
    for (const char* program : {"ps", "worker"}) Write(program, "exec sleep 600");
  }

  // A program that notes its arguments in a trace, and then does this.
  void Write(const std::string& program, const std::string& script) const {
    const std::string path =
        folder_.Write(program, absl::StrCat("#!/bin/sh\necho ", program, " \"$*\" >> ",
                                            folder_.Path("trace"), "\n", script, "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  // A chief that says that it listens at this port, and then does this.
  void WriteChief(int port, const std::string& script) const {
    Write("chief", absl::StrCat("while [ \"$1\" != --ports-file ]; do shift; done\n",
                                "echo '{\"data\": ", port, "}' > \"$2\"\n", script));
  }
  std::string Trace() const {
    std::ifstream file(folder_.Path("trace"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const std::string& path() const { return folder_.path(); }
  const TestFolder& folder() const { return folder_; }

 private:
  const TestFolder folder_;
};

// As a process logs its last words.
inline std::string LogError(const std::string& message) {
  return absl::StrCat("echo '2026-11-21T12:00:00.123Z error chief ", message, "' >&2\n");
}

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_COMMANDS_CREW_OF_SCRIPTS_H_
