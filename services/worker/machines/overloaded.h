// std::visit with one lambda for each case.
#ifndef CAPSTAN_WORKER_MACHINES_OVERLOADED_H_
#define CAPSTAN_WORKER_MACHINES_OVERLOADED_H_

namespace capstan::worker {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_OVERLOADED_H_
