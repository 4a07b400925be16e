/* What this processor can do, and what the library was compiled from. */

__attribute__((visibility("default"))) int lexitree_has_avx512(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

__attribute__((visibility("default"))) int lexitree_has_avx2(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

__attribute__((visibility("default"))) const char *lexitree_source(void) { return SOURCE; }
