// std::visit with one lambda per alternative. Unless there is one for `const auto&`, the code does
// not compile after the variant gets another alternative until that is handled, too.
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
