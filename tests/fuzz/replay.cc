// Runs a fuzz target on files and on those of folders: replay PATH...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace {

int Replay(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files += Replay(entry.path());
    }
    return files;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string input(std::istreambuf_iterator<char>(file), {});
  std::fprintf(stderr, "%s\n", path.c_str());  // The last one printed is the one that crashed.
  Fuzz(input);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) files += Replay(argv[i]);
  std::fprintf(stderr, "%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
