/* Many blocks of states through compiled code; large results are written past the caches.
 *
 * A result that is larger than the caches would be read into them only to be overwritten. Code that loops over bodies
 * writes its results past them by itself. Of other code, a piece of the result is computed in a room that stays in the
 * cache, and copied from there by stores that do not read. Such code does not say either whether its results are finite. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define STREAMS 1
#else
#define STREAMS 0
#endif

#define LARGE ((npy_intp)4 << 20) /* numbers of a result, 32 MB, that caches do not keep */
#define PIECE (1 << 15)           /* numbers that are still in the cache when they are looked at or copied */
#define LINE 8                    /* numbers of a line of the cache */
#define MANY 512                  /* numbers of a state whose ends, which no whole line holds, do not matter */

static void copy_past_caches(double *to, const double *from, npy_intp count)
{
#if STREAMS
    npy_intp head = (npy_intp)((LINE - (uintptr_t)to / sizeof(double) % LINE) % LINE), i = head;
    memcpy(to, from, (size_t)head * sizeof(double));
    for (; i + LINE <= count; i += LINE)
        for (int k = 0; k < LINE; k += 2)
            _mm_stream_pd(to + i + k, _mm_loadu_pd(from + i + k));
    memcpy(to + i, from + i, (size_t)(count - i) * sizeof(double));
#else
    memcpy(to, from, (size_t)count * sizeof(double));
#endif
}

/* Integers, because a sum of floats would wait for every addition: an exponent of ones overflows into the sign. */
static int all_finite_singles(const float *numbers, npy_intp count)
{
    const uint32_t exponent = UINT32_C(0xff) << 23, least = UINT32_C(1) << 23;
    uint32_t signs = 0, bits;
    for (npy_intp i = 0; i < count; i++) {
        memcpy(&bits, numbers + i, sizeof bits);
        signs |= (bits & exponent) + least;
    }
    return signs >> 31 == 0;
}

static int is_judged_sound(const Blocks *of, const void *numbers, npy_intp count)
{
    if (!of->judged)
        return 1;
    return of->item == sizeof(double) ? all_finite(numbers, count) : all_finite_singles(numbers, count);
}

/* Loops over bodies, which add up their results times zero at the beginning of their scratch (loop_results.py). */
static int run_loops(const Blocks *of, const char *const *in, char *out, npy_intp blocks, int past)
{
    memset(of->code->extra[0], 0, (size_t)of->code->width * of->item);
    code_call(of->code, of->inputs, past ? -blocks : blocks, in, out);
#if STREAMS
    if (past)
        _mm_sfence();
#endif
    return is_judged_sound(of, of->code->extra[0], of->code->width);
}

int blocks_run(const Blocks *of, const char *const *in, char *out, npy_intp blocks)
{
    const npy_intp width = of->code->width, each = width * of->count, piece = each > 0 && each < PIECE ? PIECE / each : 1;
    const int doubles = of->item == sizeof(double);
    const int streamed = STREAMS && doubles && each > LINE && of->total >= LARGE && (uintptr_t)out % sizeof(double) == 0;
    if (of->code->extras > 0 && width > 1)
        return run_loops(of, in, out, blocks, streamed && of->count >= MANY);
    const npy_intp some = of->judged || (streamed && blocks > piece) ? piece : blocks;
    char *room = streamed && blocks > piece ? PyMem_RawMalloc((size_t)(some * each) * of->item) : NULL;
    const char *here[MAX_INPUTS];
    int sound = 1;
    for (npy_intp at = 0; sound && at < blocks; at += some) {
        npy_intp now = blocks - at < some ? blocks - at : some;
        char *rows = out + (size_t)(at * each) * of->item, *target = room != NULL ? room : rows;
        for (int i = 0; i < of->inputs; i++)
            here[i] = in[i] + (size_t)(at * width * of->sizes[i]) * of->item;
        code_call(of->code, of->inputs, now, here, target);
        sound = is_judged_sound(of, target, now * each);
        if (room != NULL)
            copy_past_caches((double *)rows, (const double *)room, now * each);
    }
#if STREAMS
    if (room != NULL)
        _mm_sfence();
#endif
    PyMem_RawFree(room);
    return sound;
}

/* run(code, ((address, size) of every input), address of the result, its numbers per state, those of all, blocks) */
PyObject *blocks_of_python(PyObject *module, PyObject *args)
{
    PyObject *given, *inputs;
    unsigned long long out;
    Py_ssize_t count, total, blocks;
    Code code = {0};
    Blocks of = {&code, 0, {0}, 0, 0, 0, sizeof(double)};
    const char *in[MAX_INPUTS];
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!Knnn", &PyTuple_Type, &given, &PyTuple_Type, &inputs, &out, &count, &total, &blocks))
        return NULL;
    Py_ssize_t number = PyTuple_GET_SIZE(inputs);
    int sound = number >= 1 && number <= MAX_INPUTS && count >= 0 && read_code(&code, given);
    for (Py_ssize_t i = 0; sound && i < number; i++) {
        unsigned long long address;
        Py_ssize_t size;
        sound = PyArg_ParseTuple(PyTuple_GET_ITEM(inputs, i), "Kn", &address, &size);
        in[i] = (const char *)(uintptr_t)address;
        of.sizes[i] = size;
    }
    if (!sound) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "run needs code, a few inputs and a result");
        return NULL;
    }
    of.inputs = (int)number;
    of.count = count;
    of.total = total;
    Py_BEGIN_ALLOW_THREADS
    blocks_run(&of, in, (char *)(uintptr_t)out, blocks);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
