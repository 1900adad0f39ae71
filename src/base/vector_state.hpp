// Clears the upper halves of the vector registers. RATIONALE: some code for wide vectors does not clear them (Debian's libxxhash;
// reductions of some MPI libraries). Every later SSE instruction of the thread is then slow, the model's included: a stencil took
// four times as long on an EPYC; measured. So they are cleared after each checksum and where a call of the C contract returns.
#pragma once

namespace tailrace {

// Safe at any call: the calling convention lets a function overwrite the upper halves.
inline void clear_upper_halves() {
#if defined(__x86_64__) && defined(__GNUC__)
    static const bool has_them = __builtin_cpu_supports("avx");
    if (has_them)
        __asm__ volatile("vzeroupper" ::
                             : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                               "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

}  // namespace tailrace
