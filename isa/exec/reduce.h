// Integer reductions in memory: d = op(d, value) (PTX ISA, "red.async", "cp.reduce.async.bulk").
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "isa/check.h"
#include "isa/exec/bulk_copy.h"

namespace tcsim::isa {

template <class T>
T reduce_value(BulkCopy::ReduceOp op, T old, T value) {
  using R = BulkCopy::ReduceOp;
  switch (op) {
    case R::add: return static_cast<T>(old + value);
    case R::min: return std::min(old, value);
    case R::max: return std::max(old, value);
    case R::inc: return old >= value ? T{0} : static_cast<T>(old + 1);
    case R::dec: return old == 0 || old > value ? value : static_cast<T>(old - 1);
    case R::and_: return static_cast<T>(old & value);
    case R::or_: return static_cast<T>(old | value);
    case R::xor_: return static_cast<T>(old ^ value);
    case R::none: break;
  }
  return value;
}

/// One element. Integer types of 32 and 64 bits.
inline void reduce_integer(BulkCopy::ReduceOp op, Type type, uint8_t* to, const uint8_t* from) {
  const auto apply = [&]<class T>(T) {
    T old, value;
    std::memcpy(&old, to, sizeof(T));
    std::memcpy(&value, from, sizeof(T));
    old = reduce_value(op, old, value);
    std::memcpy(to, &old, sizeof(T));
  };
  switch (type) {
    case Type::s32: return apply(int32_t{});
    case Type::s64: return apply(int64_t{});
    case Type::u64:
    case Type::b64: return apply(uint64_t{});
    default: TC_CHECK(bits(type) == 32, "no integer reduction of type {}", name(type)); return apply(uint32_t{});
  }
}

}  // namespace tcsim::isa
