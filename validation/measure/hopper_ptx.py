"""PTX text shared by the Hopper microbenchmarks.

Every kernel has the parameters (out, g, mp, it, a0..a7, pm): out holds 4 KiB per CTA, g is a data
buffer, mp points to tensor maps in global memory, it is the loop length, a0..a7 are the case's own
arguments and pm is a tensor map passed by value. Dynamic shared memory starts at %smb.
"""

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"

ENTRY = """.visible .entry {name}(.param .u64 out, .param .u64 g, .param .u64 mp, .param .u32 it, .param .u32 a0, .param .u32 a1,
 .param .u32 a2, .param .u32 a3, .param .u32 a4, .param .u32 a5, .param .u32 a6, .param .u32 a7, .param .align 64 .b8 pm[128])
{limits}
{{
 .reg .b64 %out, %g, %mp, %mpp, %t0, %t1, %o, %rd<16>;
 .reg .b32 %it, %a<8>, %thr, %lane, %warp, %cta, %smb, %i, %rep, %r<64>, %one, %crank, %csize;
 .reg .pred %p, %q, %yes;
 ld.param.u64 %out, [out]; ld.param.u64 %g, [g]; ld.param.u64 %mp, [mp]; ld.param.u32 %it, [it];
{args}
 mov.b64 %mpp, pm; cvta.param.u64 %mpp, %mpp;
 mov.u32 %thr, %tid.x; and.b32 %lane, %thr, 31; shr.u32 %warp, %thr, 5; mov.u32 %cta, %ctaid.x;
 mov.u32 %smb, smem; mul.wide.u32 %o, %cta, 4096; add.s64 %out, %out, %o;
 mov.u32 %crank, %cluster_ctarank; mov.u32 %csize, %cluster_nctaid.x;
 setp.eq.u32 %yes, %smb, %smb; mov.u32 %one, 1;
{body}
DONE:
 ret;
}}
"""


def kernel(name, body, threads=128, limits=None):
    args = "\n".join(f" ld.param.u32 %a{i}, [a{i}];" for i in range(8))
    return ENTRY.format(name=name, limits=limits or f".maxntid {threads}, 1, 1", args=args, body=body)


def timed(loop_body, before="", tail="", label="L", pragma=' .pragma "nounroll";'):
    """Three repetitions of a loop of `it` passes; warp w of repetition r writes its clocks to out[2*(32r+w)].
    ptxas unrolls short loops unless told not to."""
    return f"""
 mov.u32 %rep, 0;
REP_{label}:
 bar.sync 0;
{before}
 mov.u64 %t0, %clock64;
 mov.u32 %i, 0;
LOOP_{label}:
{pragma}
{loop_body}
 add.u32 %i, %i, 1;
 setp.lt.u32 %p, %i, %it;
 @%p bra LOOP_{label};
{tail}
 mov.u64 %t1, %clock64;
 {{ .reg .b32 k; .reg .b64 ad; .reg .pred z;
 mad.lo.u32 k, %rep, 32, %warp; mul.wide.u32 ad, k, 16; add.s64 ad, ad, %out;
 setp.eq.u32 z, %lane, 0;
 @z st.global.u64 [ad], %t0; @z st.global.u64 [ad+8], %t1; }}
 add.u32 %rep, %rep, 1;
 setp.lt.u32 %p, %rep, 3;
 @%p bra REP_{label};
"""


def wait(bar, parity, label):
    return f"""
{label}:
 {{ .reg .pred w; mbarrier.try_wait.parity.shared::cta.b64 w, [{bar}], {parity};
 @!w bra {label}; }}
"""


def wait_block(bar, parity):
    """A wait whose label is local to its own block."""
    return f""" {{ .reg .pred w;
W: mbarrier.try_wait.parity.shared::cta.b64 w, [{bar}], {parity};
 @!w bra W; }}"""


def fence_init():
    return " fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;"
