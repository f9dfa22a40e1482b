#include <cstdio>

#include "cli/command.h"

namespace capstan::cli {

void PrintError(const std::string& message) {
  std::fprintf(stderr, "capstan: %s\n", message.c_str());
}

void PrintRefusal(const absl::Status& refusal) {
  std::fprintf(stderr, "%s\n", std::string(refusal.message()).c_str());
}

}  // namespace capstan::cli
