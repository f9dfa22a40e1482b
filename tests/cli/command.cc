#include "tests/cli/command.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kEnd = absl::Minutes(3);

}  // namespace

CommandTest::CommandTest() : before_(fs::current_path()) {
  const fs::path root = folder_.path();
  fs::create_directory(root / "bin");
  // A copy, because the command looks for its siblings where its file is.
  fs::copy_file(CAPSTAN_PROGRAM, root / "bin/capstan");
  for (const char* role : {"chief", "ps", "worker"}) {
    fs::create_symlink(FAKE_SERVICE, root / "bin" / role);
  }
  fs::current_path(root);
  SetEnvironment("FAKE_TRACE", (root / "trace").string());
}

CommandTest::~CommandTest() {
  fs::current_path(before_);
  for (const auto& [name, value] : former_environment_) setenv(name.c_str(), value.c_str(), 1);
}

void CommandTest::UseRealServices() {
  for (const char* role : {"chief", "ps", "worker"}) {
    fs::remove(fs::path("bin") / role);
    fs::create_symlink(fs::path(CAPSTAN_PROGRAM).parent_path() / role, fs::path("bin") / role);
  }
}

void CommandTest::SetEnvironment(const std::string& name, const std::string& value) {
  const char* former = std::getenv(name.c_str());
  former_environment_.emplace(name, former == nullptr ? "" : former);
  setenv(name.c_str(), value.c_str(), 1);
}

void CommandTest::WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string CommandTest::ReadFile(const std::string& path) const {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void CommandTest::WriteJob(const std::string& more) {
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: synthetic, synthetic: {train_rows: 1000, eval_rows: 100}}\n"
            "model: {preset: lr}\n" +
                more);
}

Process CommandTest::Start(const std::vector<std::string>& arguments) {
  fs::remove("output");
  std::vector<std::string> argv = {fs::absolute("bin/capstan").string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  absl::StatusOr<Process> process = Process::Start({.argv = argv, .log_path = "output"});
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

CommandTest::Result CommandTest::Await(Process& process) {
  const std::optional<Ending> ending = process.WaitFor(kEnd);
  EXPECT_TRUE(ending.has_value()) << "still running after three minutes";
  Result result{.exit_code = ending.has_value() ? ending->exit_code : -1,
                .output = ReadFile("output")};
  return result;
}

CommandTest::Result CommandTest::Run(const std::vector<std::string>& arguments) {
  Process process = Start(arguments);
  return Await(process);
}

}  // namespace capstan::cli
