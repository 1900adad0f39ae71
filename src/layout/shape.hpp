// Numbers along the dimensions of an array: lengths, offsets or counts. They are stored in the object, not on the heap. RATIONALE:
// a stream of many variables has tens of thousands of boxes, and allocating memory for each took most of the time of describing
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "base/error.hpp"

namespace tailrace {

constexpr int kMaxDims = 8;

// Like a std::vector with room for the time dimension and kMaxDims more.
class Shape {
public:
    using value_type = uint64_t;
    using iterator = uint64_t*;
    using const_iterator = const uint64_t*;

    Shape() = default;
    Shape(const Shape& other) : size_(other.size_) { std::copy(other.begin(), other.end(), data()); }
    Shape& operator=(const Shape& other) {
        size_ = other.size_;
        std::copy(other.begin(), other.end(), data());
        return *this;
    }
    explicit Shape(size_t size, uint64_t value = 0) { resize(size, value); }
    Shape(std::initializer_list<uint64_t> values) : Shape(values.begin(), values.end()) {}
    template <std::forward_iterator Iterator>
    Shape(Iterator first, Iterator last) {
        set_size(static_cast<size_t>(std::distance(first, last)));
        std::copy(first, last, data());
    }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    uint64_t* data() { return values_.data(); }
    const uint64_t* data() const { return values_.data(); }
    iterator begin() { return data(); }
    iterator end() { return data() + size_; }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + size_; }
    uint64_t& operator[](size_t at) { return values_[at]; }
    uint64_t operator[](size_t at) const { return values_[at]; }

    void push_back(uint64_t value) { insert(end(), value); }
    void insert(const_iterator before, uint64_t value) {
        const size_t at = static_cast<size_t>(before - begin());
        resize(size_ + 1);
        std::copy_backward(begin() + at, end() - 1, end());
        values_[at] = value;
    }
    void resize(size_t size, uint64_t value = 0) {
        const size_t before = size_;
        set_size(size);
        if (size > before) std::fill(data() + before, end(), value);
    }

    friend bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
    friend auto operator<=>(const Shape& a, const Shape& b) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    void set_size(size_t size) {
        if (size > values_.size()) fail(Status::INTERNAL, size, " dimensions, at most ", kMaxDims, " and the time");
        size_ = size;
    }

    // Unused numbers are not initialized, and the used ones are beside the size: the blocks of a step should fit into the caches.
    uint64_t size_ = 0;
    std::array<uint64_t, kMaxDims + 1> values_;
};

}  // namespace tailrace
