// A vector whose copies share their elements until one of them edits one. The explorer copies a
// world before every step, and a step changes a runner and a shard or two.
#ifndef CAPSTAN_TESTS_SIMULATION_SHARED_VECTOR_H_
#define CAPSTAN_TESTS_SIMULATION_SHARED_VECTOR_H_

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace capstan::simulation {

// Thread-compatible, but copies that share elements count as one object.
template <typename T>
class SharedVector {
  struct Element {
    explicit Element(const T& element) : value(element) {}
    explicit Element(T&& element) : value(std::move(element)) {}
    T value;
    std::string text;  // Empty: not made since the element was edited.
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    explicit Iterator(const std::shared_ptr<Element>* at) : at_(at) {}
    const T& operator*() const { return (*at_)->value; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const std::shared_ptr<Element>* at_;
  };

  size_t size() const { return elements_.size(); }
  const T& operator[](size_t index) const { return elements_[index]->value; }
  Iterator begin() const { return Iterator(elements_.data()); }
  Iterator end() const { return Iterator(elements_.data() + elements_.size()); }

  void push_back(T element) { elements_.push_back(std::make_shared<Element>(std::move(element))); }

  // The result is no other copy's element. It is valid until this vector is copied.
  T& Edit(size_t index) {
    std::shared_ptr<Element>& element = elements_[index];
    if (element.use_count() > 1) element = std::make_shared<Element>(std::as_const(element->value));
    element->text.clear();
    return element->value;
  }

  // Returns make(element), which is kept until the element is edited. REQUIRES: `make` tells the
  // same of equal elements, and never tells nothing.
  template <typename Make>
  const std::string& TextOf(size_t index, const Make& make) const {
    Element& element = *elements_[index];
    if (element.text.empty()) element.text = make(std::as_const(element.value));
    return element.text;
  }

 private:
  std::vector<std::shared_ptr<Element>> elements_;
};

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_SHARED_VECTOR_H_
