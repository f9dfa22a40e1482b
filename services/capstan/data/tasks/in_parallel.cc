#include "capstan/data/tasks/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace capstan {

absl::Status ForEachInParallel(size_t count, const std::function<absl::Status(size_t)>& work,
                               size_t most_threads) {
  std::vector<absl::Status> statuses(count);
  std::atomic<size_t> next = 0;
  const auto work_on = [&] {
    for (size_t i = next++; i < count; i = next++) {
      statuses[i] = work(i);
      if (!statuses[i].ok()) next = count;  // All calls before i were begun.
    }
  };
  const size_t wanted = std::max(kFewestThreads, count / kFilesAThread);
  std::vector<std::thread> threads;
  while (threads.size() < std::min({wanted, most_threads, count})) threads.emplace_back(work_on);
  for (std::thread& thread : threads) thread.join();
  const auto failed = std::find_if(statuses.begin(), statuses.end(),
                                   [](const absl::Status& status) { return !status.ok(); });
  return failed == statuses.end() ? absl::OkStatus() : *failed;
}

}  // namespace capstan
