// Which tcgen05 and clusterlaunchcontrol forms exist: testdata/tcgen05_forms.txt and every shape of ld, st and cp, for the table and, where
// the machine has it, for ptxas.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "isa/layout/tensor_memory_layout.h"
#include "isa/ptx/module.h"

namespace tcsim::isa {
namespace {

struct Form {
  std::string text;
  bool accepted;
};

std::string registers(uint32_t n) {
  std::string list = "{";
  for (uint32_t i = 0; i < n; ++i) list += fmt::format("{}%r{}", i ? ", " : "", i);
  return list + "}";
}

std::vector<Form> forms() {
  std::vector<Form> out;
  std::ifstream in(TCSIM_SOURCE_DIR "/isa/insn/testdata/tcgen05_forms.txt");
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back({line[0] == '!' ? line.substr(1) : line, line[0] != '!'});
  for (size_t s = 0; s < kTensorShapeNames.size(); ++s)
    for (const bool packed : {false, true})
      for (uint16_t n = 1; n <= 128; n = static_cast<uint16_t>(2 * n)) {
        const TensorFragment f{static_cast<TensorShape>(s), n, packed};
        const std::string split = f.accesses() == 2 ? ", 8" : "";
        const std::string list = registers(std::min(f.registers(), 128u));
        out.push_back(
            {fmt::format("tcgen05.ld.sync.aligned.{}.x{}{}.b32 {}, [%r150]{};", kTensorShapeNames[s], n, packed ? ".pack::16b" : "", list, split),
             f.exists()});
        out.push_back(
            {fmt::format("tcgen05.st.sync.aligned.{}.x{}{}.b32 [%r150]{}, {};", kTensorShapeNames[s], n, packed ? ".unpack::16b" : "", split, list),
             f.exists()});
      }
  for (const char* shape : {"128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4"})
    for (const char* format : {"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"})
      for (const int group : {1, 2}) out.push_back({fmt::format("tcgen05.cp.cta_group::{}.{}{} [%r1], %rd1;", group, shape, format), true});
  return out;
}

std::string kernel(const std::string& statements) {
  return ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .b16 %h<9>; .reg .b32 %r<200>; .reg .b64 %rd<20>; .reg .b128 %q<3>; .reg .pred %p<5>; .shared .align 16 .b8 s[1024];\n" +
         statements + "\nret;\n}\n";
}

TEST(Tcgen05Forms, TheTableAcceptsWhatTheManualHas) {
  ASSERT_GT(forms().size(), 200u);
  for (const Form& form : forms()) {
    Diagnostics diags;
    load_module("k.ptx", kernel(form.text), diags);
    EXPECT_EQ(!diags.has_errors(), form.accepted) << form.text << (diags.all().empty() ? "" : "\n" + diags.all()[0].str());
  }
}

#ifdef TCSIM_PTXAS
bool assembles(const std::string& statements) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("tcsim_tcgen05_{}.ptx", ::getpid());
  std::ofstream(file) << kernel(statements);
  const int rc = std::system(fmt::format("{} -arch=sm_100a -O0 -o /dev/null {} > /dev/null 2>&1", TCSIM_PTXAS, file.string()).c_str());
  std::filesystem::remove(file);
  return rc == 0;
}

// What must assemble goes to ptxas together; only if that fails, one by one.
TEST(Tcgen05Forms, PtxasAgrees) {
  std::string all;
  for (const Form& form : forms()) {
    if (form.accepted) {
      all += form.text + "\n";
    } else {
      EXPECT_FALSE(assembles(form.text)) << form.text;
    }
  }
  if (assembles(all)) return;
  for (const Form& form : forms())
    if (form.accepted) { EXPECT_TRUE(assembles(form.text)) << form.text; }
}
#endif

}  // namespace
}  // namespace tcsim::isa
