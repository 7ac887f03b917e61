#include "isa/insn/matrix_plan.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace tcsim::isa {
namespace {

/// The types, or for .kind:: forms, whose rate does not depend on the types, the kind.
std::string operand_key(const MmaDesc& d) {
  if (d.scale == Type::ue4m3) return "mxf4nvf4";
  if (d.scale == Type::ue8m0) return is_packed_e2m1(d.family, d.shape, d.a) ? "mxf4" : "mxf8f6f4";
  const auto narrow = [](Type t) { return t == Type::e3m2 || t == Type::e2m3 || t == Type::e2m1; };
  if (narrow(d.a) || narrow(d.b)) return "f8f6f4";
  return d.b == d.a ? std::string(name(d.a)) : fmt::format("{}.{}", name(d.a), name(d.b));
}

std::string key_of(const MmaDesc& d) {
  std::string key = fmt::format("m{}n{}k{}.{}.{}", d.shape.m, d.shape.n, d.shape.k, name(d.d), operand_key(d));
  if (d.family == MatrixFamily::mma_sparse) key += ".sp";
  return key;
}

auto order_of(const MmaDesc& d) {
  return std::tuple(d.family, d.shape.m, d.shape.n, d.shape.k, d.a_order, d.b_order, d.a, d.b, d.c, d.d, d.satfinite, d.bit_op, d.selector, d.scale,
                    d.scales);
}

struct Less {
  bool operator()(const MmaDesc& x, const MmaDesc& y) const { return order_of(x) < order_of(y); }
};

}  // namespace

MmaPlanFamily::MmaPlanFamily(const MmaDesc& desc) : desc_(desc), key_(key_of(desc)) {}

const MmaPlan& MmaPlanFamily::make(Generation generation) const {
  const std::lock_guard lock(mutex_);
  const auto i = static_cast<size_t>(generation);
  if (!owned_[i]) {
    MmaDesc desc = desc_;
    desc.generation = generation;
    owned_[i] = std::make_unique<const MmaPlan>(desc);
    plans_[i].store(owned_[i].get(), std::memory_order_release);
  }
  return *owned_[i];
}

std::shared_ptr<const MmaPlanFamily> MmaPlanFamily::of(const MmaDesc& desc) {
  static std::mutex mutex;
  static std::map<MmaDesc, std::shared_ptr<const MmaPlanFamily>, Less> families;
  const std::lock_guard lock(mutex);
  auto& family = families[desc];
  if (!family) family = std::make_shared<const MmaPlanFamily>(desc);
  return family;
}

}  // namespace tcsim::isa
