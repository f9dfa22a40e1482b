// std::visit with one lambda for each case. Without one for `const auto&`, a visit of a variant
// that gets another alternative does not compile until it has a case of its own.
#ifndef CAPSTAN_BASE_OVERLOADED_H_
#define CAPSTAN_BASE_OVERLOADED_H_

namespace capstan {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace capstan

#endif  // CAPSTAN_BASE_OVERLOADED_H_
