/* Memory of large results, which is kept when they are freed: a system gives fresh pages to a process one by one, and zeroes
 * them, which takes longer than what is computed into them.
 *
 * NumPy asks a handler for the memory of an array and gives it back there; arrays that are made here have this one. It is
 * called with the interpreter's lock. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define LEAST ((size_t)1 << 18)  /* bytes; the C library keeps smaller pieces by itself */
#define MOST ((size_t)256 << 20) /* bytes that are kept */
#define HUGE_PAGES ((size_t)1 << 22)
#define LINE 64
#define BLOCKS 32

/* What stands before the numbers of a block. */
typedef struct {
    void *start; /* as the C library gave it */
    size_t size; /* of what follows */
} Head;

static void *kept[BLOCKS]; /* blocks that nobody has, the one that was freed first in front */
static int count;
static size_t total, most;
static PyObject *handler;

static Head *head_of(void *block)
{
    return (Head *)block - 1;
}

static void *take(int at)
{
    void *block = kept[at];
    total -= head_of(block)->size;
    memmove(kept + at, kept + at + 1, (size_t)(--count - at) * sizeof *kept);
    return block;
}

static void *fresh(size_t size)
{
    char *start = size < SIZE_MAX - 2 * LINE ? malloc(size + 2 * LINE) : NULL;
    if (start == NULL)
        return NULL;
    char *block = start + (2 * LINE - (uintptr_t)start % LINE);
    *head_of(block) = (Head){start, size};
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGES) {
        uintptr_t page = ((uintptr_t)block + 4095) & ~(uintptr_t)4095;
        madvise((void *)page, size - (page - (uintptr_t)block), MADV_HUGEPAGE);
    }
#endif
    return block;
}

/* The kept block that fits best, if less than a quarter of what is wanted would be left over; of equal ones the one that was
 * freed last, which caches may still have. */
static void *pool_malloc(void *context, size_t size)
{
    int best = -1;
    (void)context;
    for (int i = 0; i < count; i++) {
        size_t own = head_of(kept[i])->size;
        if (own >= size && own - size <= size / 4 && (best < 0 || own <= head_of(kept[best])->size))
            best = i;
    }
    return best >= 0 ? take(best) : fresh(size);
}

static void pool_free(void *context, void *block, size_t size)
{
    (void)context;
    (void)size; /* of the array, which may have become another */
    if (block == NULL)
        return;
    const size_t own = head_of(block)->size;
    if (own > most) {
        free(head_of(block)->start);
        return;
    }
    while (count == BLOCKS || total + own > most)
        free(head_of(take(0))->start);
    kept[count++] = block;
    total += own;
}

static void *pool_calloc(void *context, size_t number, size_t size)
{
    void *block = size == 0 || number <= SIZE_MAX / size ? pool_malloc(context, number * size) : NULL;
    return block == NULL ? NULL : memset(block, 0, number * size);
}

static void *pool_realloc(void *context, void *block, size_t size)
{
    void *other = pool_malloc(context, size);
    if (other != NULL && block != NULL) {
        const size_t own = head_of(block)->size;
        memcpy(other, block, own < size ? own : size);
        pool_free(context, block, own);
    }
    return other;
}

static PyDataMem_Handler pool = {"recursa_results", 1, {NULL, pool_malloc, pool_calloc, pool_realloc, pool_free}};

PyObject *new_array(int ndim, const npy_intp *dims, int type)
{
    npy_intp bytes = product(dims, ndim);
    if (most == 0 || bytes < (npy_intp)(LEAST / sizeof(double)))
        return PyArray_SimpleNew(ndim, dims, type);
    PyObject *usual = PyDataMem_SetHandler(handler);
    if (usual == NULL)
        return NULL;
    PyObject *array = PyArray_SimpleNew(ndim, dims, type);
    PyObject *type_of_error, *error, *trace;
    PyErr_Fetch(&type_of_error, &error, &trace);
    Py_XDECREF(PyDataMem_SetHandler(usual));
    Py_DECREF(usual);
    PyErr_Restore(type_of_error, error, trace);
    return array;
}

/* empty(shape, type): an array whose memory is kept when it is freed, if it is large. */
PyObject *empty_array(PyObject *module, PyObject *args)
{
    PyArray_Dims shape = {NULL, 0};
    PyArray_Descr *type;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O&", PyArray_IntpConverter, &shape, PyArray_DescrConverter, &type))
        return NULL;
    PyObject *array = new_array(shape.len, shape.ptr, type->type_num);
    Py_DECREF(type);
    PyDimMem_FREE(shape.ptr);
    return array;
}

/* Bytes that are kept for results to come. */
PyObject *kept_bytes(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyLong_FromSize_t(total);
}

int memory_prepare(void)
{
    const char *setting = getenv("RECURSA_MEMORY_POOL");
    most = setting != NULL && (strcmp(setting, "0") == 0 || strcmp(setting, "off") == 0 || strcmp(setting, "no") == 0) ? 0 : MOST;
    handler = PyCapsule_New(&pool, "mem_handler", NULL);
    return handler == NULL ? -1 : 0;
}
