/* One parallel region of OpenMP. */

#include <omp.h>
#include <stdlib.h>

void rival_run_on_each(int threads, void (*share)(const void *, int), const void *context) {
#pragma omp parallel num_threads(threads)
    {
        /* OpenMP starts fewer threads if OMP_THREAD_LIMIT or OMP_DYNAMIC says so; some shares would not run. */
        if (omp_get_num_threads() != threads)
            abort();
        share(context, omp_get_thread_num());
    }
}
