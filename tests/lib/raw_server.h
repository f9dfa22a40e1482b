// A TCP server on loopback that answers each request with bytes of the test's choice, right or
// wrong.
#ifndef CAPSTAN_TESTS_LIB_RAW_SERVER_H_
#define CAPSTAN_TESTS_LIB_RAW_SERVER_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace capstan {

// What happens to the connection after the bytes are sent. kStall: nothing, until the peer closes
// it.
enum class AfterAnswer { kKeep, kClose, kReset, kStall };

struct RawAnswer {
  std::string bytes;
  AfterAnswer then = AfterAnswer::kClose;
};

// Serves one connection at a time. Thread-safe.
class RawServer {
 public:
  // Returns the answer to request number `n`, from 0. `request` is the whole request, head and
  // body. Called on a thread of the server.
  using Answerer = std::function<RawAnswer(int n, const std::string& request)>;
  explicit RawServer(Answerer answer);
  ~RawServer();  // Also ends a stalled connection.

  std::string url() const;  // "http://127.0.0.1:port"
  int connections() const { return connections_; }

 private:
  void Run();
  void Serve(int connection);

  const Answerer answer_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};  // A pipe that becomes readable when the server should end.
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  int requests_ = 0;  // Used by the thread only.
  std::thread thread_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_RAW_SERVER_H_
