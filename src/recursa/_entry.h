/* What the files of the extension share. */
#ifndef RECURSA_ENTRY_H
#define RECURSA_ENTRY_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION /* handlers of memory */
#define PY_ARRAY_UNIQUE_SYMBOL recursa_entry_array_api
#include <Python.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stdint.h>

#define MAX_QUATERNIONS 16
#define MAX_INPUTS 8
#define MAX_DIMS 3
#define MAX_EXTRAS 3

/* How one argument of a single state is read: numbers in a plain array, a list or a tuple, by name, or as wrenches. */
typedef struct {
    PyObject_HEAD
    int ndim; /* one, or two for a matrix, which is read from arrays and wrenches only */
    npy_intp dims[2];
    npy_intp size;     /* numbers of the argument */
    npy_intp room;     /* numbers that reading it may write */
    PyObject *places;  /* NULL, or a dictionary: (start, count) of joints, the rows of links */
    PyObject *neutral; /* NULL, or an array: what joints that are not named have */
    int quaternions;
    npy_intp starts[MAX_QUATERNIONS];
    PyObject *bounds;  /* NULL, or an array: numbers beyond these, which Python may change, are for the general way to look at */
    PyObject *wrench;  /* NULL, or the class of wrenches */
    PyObject *entries; /* NULL, or a dictionary that may hold the entry for the poses of all links */
    PyObject *poses;   /* under this key */
} Input;

/* Machine code of a kernel, for so many states at once. */
typedef struct {
    void *function; /* NULL where there is none */
    int extras;     /* 0, or MAX_EXTRAS: scratch, tables and numbers of code that loops over bodies */
    void *extra[MAX_EXTRAS];
    npy_intp width;
} Code;

/* A way into one kernel. */
typedef struct Entry Entry;
struct Entry {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owner; /* keeps the machine code and the tables alive */
    int setting;     /* of compiling, when this was made */
    Code code[2][2]; /* in double and in single precision: for one state, and for batches */
    int judged;      /* whether results of a batch have to be finite */
    int lacking;     /* a call needed code that is not there; it may have been compiled since */
    int working;     /* the scratch of the wide code is in use */
    int inputs;
    Input *input[MAX_INPUTS];
    int from[MAX_INPUTS]; /* the argument that each of them reads */
    double *room;         /* where inputs write what they read */
    int busy;             /* whether they are at it */
    int ndim;
    npy_intp dims[MAX_DIMS];
    npy_intp count;    /* entries of the result */
    PyObject *kept[2]; /* the last results, to be handed out again once nobody else has them */
    int flags;         /* theirs */
    PyObject *ranked;  /* NULL, or the class of results that have a rank */
    double *scale;     /* NULL, or results are pseudo-inverses of B B*, whose rows are scaled so to judge the rank */
    double limit;      /* against this */
    double *factor;    /* B, the result of the kernel */
    npy_intp columns;  /* of it */
    Entry *guard;      /* NULL, or an entry whose results have to be positive, or this one declines */
    int guarded[MAX_INPUTS]; /* which inputs it has */
    double *margins;   /* its results */
};

extern PyTypeObject InputType, EntryType, MethodType, SearchType;

int entries_prepare(void); /* -1 with an exception */
int inputs_prepare(void);
int methods_prepare(void);

/* The coordinates of a state, which wrenches in world axes depend on. */
typedef struct {
    const double *q;
    npy_intp nq;
} State;

/* The data of an array that needs no copy, or NULL. */
static inline const double *plain_data(const Input *self, PyObject *given)
{
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != self->ndim || !PyArray_ISCARRAY_RO(array))
        return NULL;
    for (int i = 0; i < self->ndim; i++)
        if (PyArray_DIM(array, i) != self->dims[i])
            return NULL;
    return (const double *)PyArray_DATA(array);
}

/* The numbers of an argument that is no plain array, in ``room``. NULL for what cannot be read; with an exception only if
 * it is none that the general way will raise again. */
const double *input_read(const Input *self, PyObject *given, double *room, const State *state);

/* A vector: a list, a tuple or an array with one axis, of doubles or of NumPy's usual whole numbers; 0 for anything else. */
int read_vector(PyObject *given, npy_intp size, double *numbers);

/* Whether a quaternion has unit length; nan has not, and the general way lets it through. */
static inline int is_unit(const double *p, double tolerance)
{
    return fabs(sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]) - 1.0) <= tolerance;
}

/* Whether every quaternion of a state has unit length. */
int input_is_sound(const Input *self, const double *numbers);

/* Whether a number lies beyond its bound; nan does not. */
static inline int is_doubtful(const Input *self, const double *numbers)
{
    if (self->bounds == NULL)
        return 0;
    const double *bounds = PyArray_DATA((PyArrayObject *)self->bounds);
    for (npy_intp i = 0; i < self->size; i++)
        if (fabs(numbers[i]) > bounds[i])
            return 1;
    return 0;
}

/* The numbers of an argument: where they are, or in ``room``. NULL as of ``input_read``. */
static inline const double *input_numbers(const Input *self, PyObject *given, double *room, const State *state)
{
    const double *numbers = PyArray_CheckExact(given) ? plain_data(self, given) : NULL;
    if (numbers == NULL)
        numbers = input_read(self, given, room, state);
    if (numbers == NULL || (self->quaternions > 0 && !input_is_sound(self, numbers)) || is_doubtful(self, numbers))
        return NULL;
    return numbers;
}

/* The product of sizes, which are not negative, as long as so many numbers fit into memory; -1 else. */
static inline npy_intp product(const npy_intp *dims, int ndim)
{
    npy_intp count = 1;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] != 0 && count > NPY_MAX_INTP / (npy_intp)sizeof(double) / dims[i])
            return -1;
        count *= dims[i];
    }
    return count;
}

/* The result of an entry of coordinates alone; 0 if this is none, or has other sizes. */
int entry_evaluate(PyObject *entry, const State *state, double *result, npy_intp count);

/* The result of an entry for one state, in ``given`` if that is not NULL; or NotImplemented. */
PyObject *entry_answer(PyObject *entry, PyObject *const *args, Py_ssize_t count, PyObject *given);

/* The same for any arrays with any leading axes that broadcast, also in single precision, on so many threads. */
PyObject *batch_answer(Entry *entry, PyObject *const *args, Py_ssize_t count, PyObject *given, long threads);

/* The result of an entry, whichever way it takes; or NotImplemented. */
PyObject *any_answer(Entry *entry, PyObject *const *args, Py_ssize_t count, PyObject *given, long threads);

/* Whether the guard of an entry, if there is one, lets these arguments pass. */
int is_guarded(const Entry *self, const double *const *in);

/* An array of any numbers; the memory of a large one is kept when it is freed, for the next. */
PyObject *new_array(int ndim, const npy_intp *dims, int type);
PyObject *empty_array(PyObject *module, PyObject *args);
PyObject *kept_bytes(PyObject *module, PyObject *none);
int memory_prepare(void);

/* Kernels as foreign functions of XLA, as a capsule. */
PyObject *xla_handler(PyObject *module, PyObject *token);

/* Runs code over blocks of ``width`` states. */
void code_call(const Code *code, int inputs, int64_t blocks, const void *in, void *out);

/* None, or (width, address of the function, addresses of scratch, tables and numbers); 0 for anything else. */
int read_code(Code *code, PyObject *given);

/* What runs over blocks of states. */
typedef struct {
    const Code *code;
    int inputs;
    npy_intp sizes[MAX_INPUTS];
    npy_intp count; /* numbers of the result of one state */
    npy_intp total; /* of the whole result, of which these blocks may be a part */
    int judged;     /* whether results have to be finite */
    size_t item;    /* bytes of a number */
} Blocks;

/* Without Python. 0 if a result that has to be finite is not, then some are missing. */
int blocks_run(const Blocks *of, const char *const *in, char *out, npy_intp blocks);

PyObject *blocks_of_python(PyObject *module, PyObject *args);

int all_finite(const double *numbers, npy_intp count);
int overlap(const void *a, size_t m, const void *b, size_t n); /* so many bytes */

/* Entries that were made under another setting of compiling are not used. */
extern int current_setting;

PyObject *entry_call(PyObject *entry, PyObject *const *args, size_t nargsf, PyObject *names);

int is_out(PyObject *name);
int is_threads(PyObject *name);

/* None, or a positive whole number of threads; 0 for anything else. */
long threads_of(PyObject *number);

#endif
