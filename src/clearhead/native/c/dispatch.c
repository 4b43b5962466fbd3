/* Which kernels this processor can run. */
#include <string.h>

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(HAS_AVXVNNI)
/* Bit 4 of EAX in leaf 7, subleaf 1, which exists where subleaf 0 says so. */
static int has_avxvnni(void) {
    unsigned a = 0, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1) return 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
}
#endif

#if defined(__x86_64__)
/* Bit 29 of ECX in leaf 1: conversion of float16. Older compilers have no name for it. */
static int has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 29));
}
#endif

static int runs_here(const Kernels *k) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (k == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vnni");
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
#if defined(HAS_AVXVNNI)
    if (k == &kernels_avxvnni) return avx2 && has_avxvnni();
#endif
    if (k == &kernels_avx2) return avx2;
#elif defined(__aarch64__) && defined(__linux__)
    if (k == &kernels_neon) return (getauxval(AT_HWCAP) & (1UL << 20)) != 0; /* HWCAP_ASIMDDP */
#endif
    return k != NULL;
}

/* Fastest first. */
static const Kernels *const all[] = {
#if defined(__x86_64__)
    &kernels_avx512,
#if defined(HAS_AVXVNNI)
    &kernels_avxvnni,
#endif
    &kernels_avx2,
#elif defined(__aarch64__)
    &kernels_neon,
#endif
    &kernels_portable,
};

const Kernels *kernels_named(const char *name) {
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if ((!name || !*name || !strcmp(name, all[i]->name)) && runs_here(all[i])) return all[i];
    return NULL;
}

/* The name of table number i that runs here, fastest first; NULL after the last. */
EXPORT const char *clearhead_kernels(int i) {
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)
        if (runs_here(all[n]) && i-- == 0) return all[n]->name;
    return NULL;
}
