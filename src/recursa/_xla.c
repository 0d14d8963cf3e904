/* A kernel as a foreign function of XLA (JAX on processors): one handler for all kernels, which is told where one is.
 *
 * XLA's interface is a few structures that grow at their ends only; those of its version 0.1 are declared here, so that
 * nothing of it is needed to compile this. A call brings buffers and two numbers, "token" and "kernel". The token is drawn
 * anew in every process: an address that came from another one, in an exported computation, is refused. The kernel is
 * the address of a row of numbers, which whoever made it keeps for good. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTERS 24 /* inputs, the result, and what loops over bodies need beside them */
#define ALIGNED 64

/* Numbers of a kernel's row. The sizes of its inputs follow them. */
enum { MAGIC, ITEM, INPUTS, OUTPUTS, WIDTH, FUNCTION, SCRATCH, BEGINNING, INTEGERS, NUMBERS, SIZES };
#define MAGIC_NUMBER 0x7265637572736131

enum { FLOAT32 = 11, FLOAT64 = 12, INT64 = 5, SCALAR = 3, METADATA = 1, EXECUTE = 3, INVALID_ARGUMENT = 3 };

typedef struct Extension {
    size_t struct_size;
    int type;
    struct Extension *next;
} Extension;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int major, minor;
} Version;

typedef struct {
    size_t struct_size;
    Version version;
    uint32_t traits;
} Metadata;

typedef struct {
    Extension base;
    Metadata *metadata;
} MetadataExtension;

typedef struct {
    size_t struct_size;
    Extension *extension;
    const char *message;
    int code;
} ErrorArguments;

typedef struct {
    size_t struct_size;
    Extension *extension;
    Version version;
    const void *internal;
    void *(*error)(ErrorArguments *);
} Api;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int type;
    void *data;
    int64_t rank;
    int64_t *dims;
} Buffer;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int64_t size;
    int *types;
    Buffer **buffers;
} Buffers;

typedef struct {
    const char *text;
    size_t length;
} Name;

typedef struct {
    int type;
    const int64_t *value;
} Number;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int64_t size;
    int *types;
    Name **names;
    Number **values;
} Attributes;

typedef struct {
    size_t struct_size;
    Extension *extension;
    const Api *api;
    void *context;
    int stage;
    Buffers arguments, results;
    Attributes attributes;
} Call;

static int64_t xla_token; /* of this process */

static void *refused(const Call *call, const char *why)
{
    ErrorArguments arguments = {offsetof(ErrorArguments, code) + sizeof(int), NULL, why, INVALID_ARGUMENT};
    return call->api->error(&arguments);
}

static int attribute(const Call *call, const char *name, int64_t *value)
{
    const Attributes *all = &call->attributes;
    for (int64_t i = 0; i < all->size; i++)
        if (all->names[i]->length == strlen(name) && memcmp(all->names[i]->text, name, strlen(name)) == 0) {
            if (all->types[i] != SCALAR || all->values[i]->type != INT64)
                return 0;
            *value = *all->values[i]->value;
            return 1;
        }
    return 0;
}

/* The states of a buffer whose last axis has ``size`` numbers of the type; -1 if it is none. */
static int64_t states(const Buffer *buffer, int type, int64_t size)
{
    if (buffer->type != type || buffer->rank < 1 || buffer->dims[buffer->rank - 1] != size)
        return -1;
    int64_t count = 1;
    for (int64_t i = 0; i + 1 < buffer->rank; i++)
        count *= buffer->dims[i];
    return count;
}

#define P void *
static void enter(void *f, int pointers, int64_t blocks, void *const *p)
{
#define T4 P, P, P, P
#define T8 T4, T4
#define T16 T8, T8
#define A4(k) p[k], p[k + 1], p[k + 2], p[k + 3]
#define A8(k) A4(k), A4(k + 4)
#define A16 A8(0), A8(8)
#define FOUR(base, types, arguments, k) \
    case base + 1: ((void (*)(int64_t, types P))f)(blocks, arguments p[k]); return; \
    case base + 2: ((void (*)(int64_t, types P, P))f)(blocks, arguments p[k], p[k + 1]); return; \
    case base + 3: ((void (*)(int64_t, types P, P, P))f)(blocks, arguments p[k], p[k + 1], p[k + 2]); return; \
    case base + 4: ((void (*)(int64_t, types P, P, P, P))f)(blocks, arguments A4(k)); return;
#define COMMA ,
    switch (pointers) {
    FOUR(0, , , 0)
    FOUR(4, T4 COMMA, A4(0) COMMA, 4)
    FOUR(8, T8 COMMA, A8(0) COMMA, 8)
    FOUR(12, T8 COMMA T4 COMMA, A8(0) COMMA A4(8) COMMA, 12)
    FOUR(16, T16 COMMA, A16 COMMA, 16)
    FOUR(20, T16 COMMA T4 COMMA, A16 COMMA A4(16) COMMA, 20)
    }
}

static char *aligned(char *memory)
{
    return memory + (ALIGNED - (uintptr_t)memory % ALIGNED) % ALIGNED;
}

/* All whole blocks where they are; the states that are left, padded with the last one, in a block of their own. */
static int run(const int64_t *kernel, char **places, int64_t count)
{
    const int64_t width = kernel[WIDTH], item = kernel[ITEM], inputs = kernel[INPUTS], *sizes = kernel + SIZES;
    const int64_t blocks = count / width, rest = count % width, all = inputs + 1;
    void *function = (void *)(uintptr_t)kernel[FUNCTION], *p[MAX_POINTERS];
    size_t room = (size_t)kernel[SCRATCH] + ALIGNED, lengths[MAX_POINTERS];
    for (int64_t i = 0; i < all; i++) {
        lengths[i] = (size_t)((i < inputs ? sizes[i] : kernel[OUTPUTS]) * item);
        room += rest > 0 ? lengths[i] * (size_t)width + ALIGNED : 0;
    }
    char *memory = kernel[SCRATCH] > 0 || rest > 0 ? malloc(room) : NULL, *next = memory;
    if (memory == NULL && (kernel[SCRATCH] > 0 || rest > 0))
        return 0;
    int pointers = (int)all;
    if (kernel[SCRATCH] > 0) {
        next = aligned(next);
        memcpy(next, (const void *)(uintptr_t)kernel[BEGINNING], (size_t)kernel[SCRATCH]);
        p[pointers++] = next;
        p[pointers++] = (void *)(uintptr_t)kernel[INTEGERS];
        p[pointers++] = (void *)(uintptr_t)kernel[NUMBERS];
        next += kernel[SCRATCH];
    }
    for (int64_t i = 0; i < all; i++)
        p[i] = places[i];
    if (blocks > 0)
        enter(function, pointers, blocks, p);
    if (rest > 0) {
        for (int64_t i = 0; i < all; i++) {
            p[i] = next = aligned(next);
            const char *from = places[i] + (size_t)(blocks * width) * lengths[i];
            for (int64_t lane = 0; i < inputs && lane < width; lane++)
                memcpy(next + (size_t)lane * lengths[i], from + (size_t)(lane < rest ? lane : rest - 1) * lengths[i], lengths[i]);
            next += lengths[i] * (size_t)width;
        }
        enter(function, pointers, 1, p);
        memcpy(places[inputs] + (size_t)(blocks * width) * lengths[inputs], p[inputs], (size_t)rest * lengths[inputs]);
    }
    free(memory);
    return 1;
}

static void *handler(Call *call)
{
    Extension *extension = call->extension;
    if (extension != NULL && extension->type == METADATA) { /* asked what this is */
        Metadata *metadata = ((MetadataExtension *)extension)->metadata;
        metadata->version.major = 0;
        metadata->version.minor = 1;
        metadata->traits = 0;
        return NULL;
    }
    if (call->stage != EXECUTE)
        return NULL;
    int64_t token, address;
    if (!attribute(call, "token", &token) || !attribute(call, "kernel", &address))
        return refused(call, "recursa: a call without its kernel");
    if (token != xla_token)
        return refused(call, "recursa: this computation was compiled in another process, whose native code is not here. "
                             "Build the function anew in this process, or export it with implementation=\"traced\"");
    const int64_t *kernel = (const int64_t *)(uintptr_t)address;
    if (kernel[MAGIC] != MAGIC_NUMBER || call->arguments.size != kernel[INPUTS] || call->results.size != 1)
        return refused(call, "recursa: the call does not fit its kernel");
    const int type = kernel[ITEM] == 8 ? FLOAT64 : FLOAT32;
    char *places[MAX_POINTERS];
    int64_t count = states(call->results.buffers[0], type, kernel[OUTPUTS]);
    places[kernel[INPUTS]] = call->results.buffers[0]->data;
    for (int64_t i = 0; i < kernel[INPUTS]; i++) {
        const Buffer *buffer = call->arguments.buffers[i];
        if (count < 0 || states(buffer, type, kernel[SIZES + i]) != count)
            return refused(call, "recursa: the shapes or types of the arrays do not fit the kernel");
        places[i] = buffer->data;
    }
    return run(kernel, places, count) ? NULL : refused(call, "recursa: not enough memory for the kernel's scratch");
}

/* xla_handler(token): the handler, for kernels that come with this token from now on. */
PyObject *xla_handler(PyObject *module, PyObject *token)
{
    (void)module;
    xla_token = PyLong_AsLongLong(token);
    if (xla_token == -1 && PyErr_Occurred())
        return NULL;
    return PyCapsule_New((void *)(uintptr_t)handler, "xla._CUSTOM_CALL_TARGET", NULL);
}
