// Measures testdata/h200_arithmetic.txt: the arithmetic chapters on a real GPU.
//
//   tcsim_probe_gpu ptx > probe.ptx;  ptxas -arch=sm_90 -O1 probe.ptx -o probe.cubin       (any machine)
//   tcsim_probe_gpu run probe.cubin > h200_arithmetic.txt                                  (on the GPU; differences on stderr)
#include <cuda.h>
#include <dlfcn.h>

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "isa/insn/probe.h"

namespace tcsim::isa {
namespace {

constexpr size_t kPerKernel = 40, kBlock = 128, kRow = size_t{kProbeLanes} * 8;

std::string register_name(Type type, size_t n) {
  const int width = bits(type);
  return fmt::format("%x{}{}", width == 64 ? "d" : width == 32 ? "w" : width == 16 ? "h" : "b", n);
}
std::string access_type(Type type) { return fmt::format("u{}", std::max(8, bits(type))); }

size_t input_offset(const std::vector<Type>& types, Type type, size_t position) {
  const auto t = static_cast<size_t>(std::find(types.begin(), types.end(), type) - types.begin());
  return (t * kProbePositions + position) * kRow;
}

/// Loads the sources of one variant, runs it, stores its results at `out`.
std::string body(const Variant& v, const std::vector<Type>& types, size_t out) {
  std::string text, list;
  for (size_t p = 0; p < v.operand_types.size(); ++p) {
    const Type type = v.operand_types[p];
    list += p ? ", " : " ";
    if (v.inst.group(static_cast<int>(p))[0].kind == Operand::Kind::constant) {
      list += "0x96";
      continue;
    }
    const size_t from = input_offset(types, type, p);
    if (type == Type::pred) {
      list += fmt::format("%p{}", p + 1);
      if (p > 0)
        text += fmt::format(" ld.volatile.global.u32 %xw12, [%in+{}];\n and.b32 %xw12, %xw12, 1;\n setp.ne.u32 %p{}, %xw12, 0;\n", from, p + 1);
    } else {
      list += register_name(type, p + 1);
      text += fmt::format(" ld.volatile.global.{} {}, [%in+{}];\n", access_type(type), register_name(type, p + 1), from);
    }
    if (v.inst.groups[p].count == 2) list += "|%p9";
  }
  const bool subtract = v.mnemonic[0] == 's';
  if (reads_carry(v)) {  // CC.CF from the lowest bit of the first type's last position
    text += fmt::format(" ld.volatile.global.u32 %xw13, [%in+{}];\n and.b32 %xw13, %xw13, 1;\n", input_offset(types, types[0], 4));
    text += subtract ? " mov.u32 %xw14, 0;\n sub.cc.u32 %xw15, %xw14, %xw13;\n" : " add.cc.u32 %xw15, %xw13, 0xffffffff;\n";
  }
  text += fmt::format(" {}{};\n", v.mnemonic, list);
  const Type to = v.operand_types[0];
  const auto store_pred = [&](const char* p, size_t at) {
    text += fmt::format(" selp.u32 %xw12, 1, 0, {};\n st.volatile.global.u32 [%out+{}], %xw12;\n", p, at);
  };
  if (to == Type::pred) store_pred("%p1", out);
  else text += fmt::format(" st.volatile.global.{} [%out+{}], {};\n", access_type(to), out, register_name(to, 1));
  if (v.inst.groups[0].count == 2) store_pred("%p9", out + kRow);
  else if (writes_carry(v))
    text += fmt::format(" {}.u32 %xw12, 0, 0;\n and.b32 %xw12, %xw12, 1;\n st.volatile.global.u32 [%out+{}], %xw12;\n", subtract ? "subc" : "addc",
                        out + kRow);
  return text;
}

void write_ptx(const std::vector<Variant>& variants, const std::vector<Type>& types) {
  std::cout << ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (size_t first = 0; first < variants.size(); first += kPerKernel) {
    std::cout << fmt::format(".visible .entry k{}(.param .u64 pin, .param .u64 pout)\n{{\n", first / kPerKernel)
              << " .reg .pred %p<16>;\n .reg .b8 %xb<16>;\n .reg .b16 %xh<16>;\n .reg .b32 %xw<16>;\n .reg .b64 %xd<16>;\n"
                 " .reg .b64 %in, %out, %at;\n .reg .b32 %t<4>;\n ld.param.u64 %in, [pin];\n ld.param.u64 %out, [pout];\n"
              << fmt::format(" mov.u32 %t0, %ctaid.x;\n mov.u32 %t1, %tid.x;\n mad.lo.u32 %t0, %t0, {}, %t1;\n", kBlock)
              << " mul.wide.u32 %at, %t0, 8;\n add.u64 %in, %in, %at;\n add.u64 %out, %out, %at;\n";
    for (size_t i = first; i < std::min(variants.size(), first + kPerKernel); ++i) std::cout << body(variants[i], types, 2 * i * kRow);
    std::cout << " ret;\n}\n";
  }
}

/// The few driver calls needed, found at run time so that the program builds without a GPU.
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  template <class F>
  F* get(const char* name) const {
    auto* f = library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
    if (!f) throw std::runtime_error(std::string("no ") + name + " in libcuda.so.1");
    return f;
  }
  template <class F, class... A>
  void call(const char* name, A... args) const {
    if (const CUresult r = get<F>(name)(args...); r != CUDA_SUCCESS)
      throw std::runtime_error(fmt::format("{} fails with {}", name, static_cast<int>(r)));
  }
};

std::vector<uint64_t> measure(const char* cubin, size_t count, const std::vector<uint64_t>& values) {
  std::ifstream file(cubin, std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(file)), {});
  const Driver driver;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUdeviceptr in, out;
  std::vector<uint64_t> results(count * 2 * kProbeLanes);
  driver.call<CUresult(unsigned)>("cuInit", 0u);
  driver.call<CUresult(CUdevice*, int)>("cuDeviceGet", &device, 0);
  driver.call<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2", &context, 0u, device);
  driver.call<CUresult(CUmodule*, const void*)>("cuModuleLoadData", &module, image.data());
  driver.call<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2", &in, values.size() * 8);
  driver.call<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2", &out, results.size() * 8);
  driver.call<CUresult(CUdeviceptr, const void*, size_t)>("cuMemcpyHtoD_v2", in, values.data(), values.size() * 8);
  driver.call<CUresult(CUdeviceptr, unsigned char, size_t)>("cuMemsetD8_v2", out, 0, results.size() * 8);
  void* args[] = {&in, &out};
  for (size_t k = 0; k * kPerKernel < count; ++k) {
    CUfunction kernel;
    driver.call<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction", &kernel, module, fmt::format("k{}", k).c_str());
    driver.call<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**)>(
        "cuLaunchKernel", kernel, static_cast<unsigned>(kProbeLanes / kBlock), 1u, 1u, static_cast<unsigned>(kBlock), 1u, 1u, 0u, nullptr, args,
        nullptr);
  }
  driver.call<CUresult()>("cuCtxSynchronize");
  driver.call<CUresult(void*, CUdeviceptr, size_t)>("cuMemcpyDtoH_v2", results.data(), out, results.size() * 8);
  return results;
}

void run(const char* cubin, std::vector<Variant>& variants, const std::vector<Type>& types) {
  const auto values = probe_values(types);
  const auto measured = measure(cubin, variants.size(), values);
  for (size_t i = 0; i < variants.size(); ++i) {
    const uint64_t* theirs = measured.data() + i * 2 * kProbeLanes;
    const auto ours = probe_results(variants[i], types, values);
    std::cout << fmt::format("{} : {:016x}\n", variants[i].statement, hash_of(theirs, ours.size()));
    int wrong = 0;
    for (size_t l = 0; l < ours.size(); ++l)
      if (ours[l] != theirs[l] && ++wrong <= 3)
        std::cerr << fmt::format("{} value {}: ours {:x}, measured {:x}\n", variants[i].statement, l, ours[l], theirs[l]);
    if (wrong) std::cerr << fmt::format("{}: {} of {} differ\n", variants[i].statement, wrong, ours.size());
  }
}

}  // namespace
}  // namespace tcsim::isa

int main(int argc, char** argv) {
  using namespace tcsim::isa;
  const std::string mode = argc > 1 ? argv[1] : "";
  auto variants = probe_variants(150);
  const auto types = probe_types(variants);
  try {
    if (mode == "ptx") write_ptx(variants, types);
    else if (mode == "run" && argc > 2) run(argv[2], variants, types);
    else return std::cerr << "usage: tcsim_probe_gpu ptx | run CUBIN\n", 2;
  } catch (const std::exception& e) { return std::cerr << e.what() << "\n", 1; }
}
