// Asks an HTTP server the same question again and again, or is one that answers at once: what
// `capstan serve` is measured with, and beside.
//
// `http_load ask PORT PATH BODY_FILE CONNECTIONS SECONDS` writes "<questions> <seconds> <p50 us>
// <p99 us>" when it is over.
//
// `http_load answer ANSWER_FILE` writes "<port>", and serves until its input ends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "capstan/http/http_server.h"

namespace capstan {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// One connection, over which one question at a time is asked.
class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      Fail("connect");
    }
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;

  // Sends the question and reads the whole answer, which has a length and is none of an error.
  void Ask(const std::string& question) {
    for (size_t sent = 0; sent < question.size();) {
      const ssize_t n = send(socket_, question.data() + sent, question.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) Fail("send");
      sent += static_cast<size_t>(n);
    }
    answer_.clear();
    size_t wanted = std::string::npos;
    while (answer_.size() < wanted) {
      char piece[1 << 16];
      const ssize_t n = recv(socket_, piece, sizeof(piece), 0);
      if (n <= 0) Fail("recv");
      answer_.append(piece, static_cast<size_t>(n));
      const size_t head = answer_.find("\r\n\r\n");
      if (wanted != std::string::npos || head == std::string::npos) continue;
      if (answer_.compare(0, 15, "HTTP/1.1 200 OK") != 0) {
        std::fprintf(stderr, "%s\n", answer_.c_str());
        std::exit(1);
      }
      constexpr char kLength[] = "Content-Length: ";
      wanted =
          head + 4 + std::strtoul(&answer_[answer_.find(kLength) + strlen(kLength)], nullptr, 10);
    }
  }

 private:
  const int socket_;
  std::string answer_;
};

void Ask(int port, const std::string& path, const std::string& body, int connections,
         double seconds) {
  const std::string question = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::vector<double>> took(static_cast<size_t>(connections));
  std::vector<std::thread> threads;
  for (std::vector<double>& own : took) {
    threads.emplace_back([&] {
      Connection connection(port);
      for (Clock::time_point asked = Clock::now(); asked < end;) {
        connection.Ask(question);
        const Clock::time_point answered = Clock::now();
        own.push_back(std::chrono::duration<double, std::micro>(answered - asked).count());
        asked = answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<double> all;
  for (const std::vector<double>& own : took) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  std::printf("%zu %.6f %.3f %.3f\n", all.size(), elapsed, all[all.size() / 2],
              all[all.size() * 99 / 100]);
}

void Answer(const std::string& text) {
  const auto server = HttpServer::Start(
      {.host = "127.0.0.1"}, [&text](const HttpQuestion&) { return HttpAnswer{.body = text}; });
  if (!server.ok()) std::exit(1);
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "ask" && argc == 7) {
    capstan::Ask(std::atoi(argv[2]), argv[3], capstan::ReadFile(argv[4]), std::atoi(argv[5]),
                 std::atof(argv[6]));
  } else if (what == "answer" && argc == 3) {
    capstan::Answer(capstan::ReadFile(argv[2]));
  } else {
    std::fprintf(stderr, "http_load ask PORT PATH BODY_FILE CONNECTIONS SECONDS | answer FILE\n");
    return 2;
  }
  return 0;
}
