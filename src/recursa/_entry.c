/* A thin way into compiled kernels for one state: plain arguments in, a new array (or the caller's) out.
 *
 * An Entry calls one kernel. Anything but the simplest case (arguments that its inputs can read: native float64 arrays
 * of the right length, lists, tuples and dictionaries of numbers, wrenches; and a finite result) is answered with
 * NotImplemented; then the general way explains what is wrong. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_pseudo_inverse.h"
#include <string.h>

#define MAX_KEPT 1024 /* numbers of a result that is worth keeping for another call */

static PyObject *name_out, *name_threads, *name_rank; /* "out", "threads", "rank" */

#define IN const void *
#define IN4 IN, IN, IN, IN
#define A4 in[0], in[1], in[2], in[3]
#define LOOP_OUTS void *, void *, void *, void *
/* The call with as many inputs as there are; ``outs`` are the types of what comes behind them. */
#define CALL(outs, ...) \
    switch (inputs) { \
    case 1: ((void (*)(int64_t, IN, outs))f)(blocks, in[0], __VA_ARGS__); break; \
    case 2: ((void (*)(int64_t, IN, IN, outs))f)(blocks, in[0], in[1], __VA_ARGS__); break; \
    case 3: ((void (*)(int64_t, IN, IN, IN, outs))f)(blocks, in[0], in[1], in[2], __VA_ARGS__); break; \
    case 4: ((void (*)(int64_t, IN4, outs))f)(blocks, A4, __VA_ARGS__); break; \
    case 5: ((void (*)(int64_t, IN4, IN, outs))f)(blocks, A4, in[4], __VA_ARGS__); break; \
    case 6: ((void (*)(int64_t, IN4, IN, IN, outs))f)(blocks, A4, in[4], in[5], __VA_ARGS__); break; \
    case 7: ((void (*)(int64_t, IN4, IN, IN, IN, outs))f)(blocks, A4, in[4], in[5], in[6], __VA_ARGS__); break; \
    default: ((void (*)(int64_t, IN4, IN4, outs))f)(blocks, A4, in[4], in[5], in[6], in[7], __VA_ARGS__); break; \
    }

void code_call(const Code *code, int inputs, int64_t blocks, const void *arguments, void *out)
{
    const void *const *in = arguments;
    void *f = code->function;
    void *const *x = code->extra;
    if (code->extras == 0)
        CALL(void *, out)
    else
        CALL(LOOP_OUTS, out, x[0], x[1], x[2])
}

/* One state. The scratch is the kernel's; the interpreter's lock is held, and no Python code runs meanwhile, so nobody else
 * is using it. (Python without that lock takes it again when it imports this module, which says that it needs it.) */
static void call(const Entry *self, const double *const *in, double *out)
{
    code_call(&self->code[0][0], self->inputs, 1, in, out);
}

int entry_evaluate(PyObject *entry, const State *state, double *result, npy_intp count)
{
    const Entry *self = (Entry *)entry;
    if (Py_TYPE(entry) != &EntryType || self->inputs != 1 || self->input[0]->size != state->nq || self->count != count ||
        self->code[0][0].function == NULL)
        return 0;
    call(self, &state->q, result);
    return 1;
}

/* Whether arrays that are read where they are have not been given other memory by Python code that ran meanwhile. */
static int still_there(const Entry *self, PyObject *const *args, const double *const *in)
{
    const double *room = self->room;
    for (int i = 0; i < self->inputs; i++) {
        if (in[i] != room && plain_data(self->input[i], args[self->from[i]]) != in[i])
            return 0;
        room += self->input[i]->room;
    }
    return 1;
}

/* Where the numbers of all arguments are; 0 if one is not plain. Python code that runs meanwhile, which takes attributes of
 * wrenches that somebody has changed, finds the entry busy. */
static int read_arguments(Entry *self, PyObject *const *args, const double **in)
{
    State state = {NULL, 0};
    double *room = self->room;
    if (self->busy)
        return 0;
    self->busy = 1;
    int i = 0, others = 0; /* whether code of others may have run */
    for (; i < self->inputs; i++) {
        in[i] = input_numbers(self->input[i], args[self->from[i]], room, &state);
        if (in[i] == NULL)
            break;
        others |= self->input[i]->wrench != NULL && in[i] == room;
        if (i == 0)
            state = (State){in[0], self->input[0]->size};
        room += self->input[i]->room;
    }
    self->busy = 0;
    return i == self->inputs && (!others || still_there(self, args, in));
}

int overlap(const void *a, size_t m, const void *b, size_t n)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + n && y < x + m;
}

/* Whether a caller's array can take the result as it is; one that shares memory with an input cannot. */
static int can_take(const Entry *self, PyArrayObject *array, const double *const *in)
{
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != self->ndim || !PyArray_ISCARRAY(array))
        return 0;
    for (int i = 0; i < self->ndim; i++)
        if (PyArray_DIM(array, i) != self->dims[i])
            return 0;
    for (int i = 0; i < self->inputs; i++)
        if (overlap(PyArray_DATA(array), (size_t)self->count * sizeof(double), in[i], (size_t)self->input[i]->size * sizeof(double)))
            return 0;
    return 1;
}

/* Whether nobody else has a result any more, and nobody has changed what it is. */
static int is_free(const Entry *self, PyObject *result)
{
    PyArrayObject *array = (PyArrayObject *)result;
    if (Py_REFCNT(result) != 1 || PyArray_FLAGS(array) != self->flags || PyArray_NDIM(array) != self->ndim ||
        PyArray_TYPE(array) != NPY_DOUBLE || PyArray_BASE(array) != NULL ||
        !PyArray_ISNOTSWAPPED(array) || *(PyObject **)((char *)result + Py_TYPE(result)->tp_weaklistoffset) != NULL)
        return 0;
    for (int i = 0; i < self->ndim; i++)
        if (PyArray_DIM(array, i) != self->dims[i])
            return 0;
    return 1;
}

/* A result to be filled. One that was handed out before and given up is as good as new; of two, one is free where a loop
 * holds the result before. Large ones are not kept: memory is worth more than their share of time. */
static PyObject *new_result(Entry *self)
{
    if (self->ranked != NULL) {
        PyArray_Descr *type = PyArray_DescrFromType(NPY_DOUBLE);
        return PyArray_NewFromDescr((PyTypeObject *)self->ranked, type, self->ndim, self->dims, NULL, NULL, 0, NULL);
    }
    for (int i = 0; i < 2; i++)
        if (self->kept[i] != NULL && is_free(self, self->kept[i]))
            return Py_NewRef(self->kept[i]);
    PyObject *made = new_array(self->ndim, self->dims, NPY_DOUBLE);
    if (made != NULL && self->count <= MAX_KEPT) {
        PyObject *oldest = self->kept[1];
        self->kept[1] = self->kept[0];
        self->kept[0] = Py_NewRef(made);
        self->flags = PyArray_FLAGS((PyArrayObject *)made);
        Py_XDECREF(oldest);
    }
    return made;
}

/* Integers, because a sum of floats would wait for every addition: an exponent of ones overflows into the sign. */
int all_finite(const double *numbers, npy_intp count)
{
    const uint64_t exponent = UINT64_C(0x7ff) << 52, least = UINT64_C(1) << 52;
    uint64_t signs = 0, bits;
    for (npy_intp i = 0; i < count; i++) {
        memcpy(&bits, numbers + i, sizeof bits);
        signs |= (bits & exponent) + least;
    }
    return signs >> 63 == 0;
}

int is_guarded(const Entry *self, const double *const *in)
{
    const double *own[MAX_INPUTS];
    const Entry *guard = self->guard;
    if (guard == NULL)
        return 1;
    for (int i = 0; i < guard->inputs; i++)
        own[i] = in[self->guarded[i]];
    call(guard, own, self->margins);
    for (npy_intp i = 0; i < guard->count; i++)
        if (!(self->margins[i] > 0.0))
            return 0;
    return 1;
}

/* Fills the result; 0 where what the kernel computes is not finite. */
static int fill(const Entry *self, const double *const *in, double *out)
{
    call(self, in, out);
    return all_finite(out, self->count);
}

/* The pseudo-inverse of B B*, where the kernel computes B; its rank, or -1 where B is not finite. */
static int invert(const Entry *self, const double *const *in, double *out)
{
    const npy_intp rows = self->dims[0];
    call(self, in, self->factor);
    if (!all_finite(self->factor, rows * self->columns))
        return -1;
    return small_pseudo_inverse((int)rows, self->columns, self->factor, self->scale, self->limit, out);
}

static int set_rank(PyObject *result, int rank)
{
    PyObject *number = PyLong_FromLong(rank);
    int failed = number == NULL || PyObject_SetAttr(result, name_rank, number) < 0;
    Py_XDECREF(number);
    return failed ? -1 : 0;
}

PyObject *entry_answer(PyObject *entry, PyObject *const *args, Py_ssize_t count, PyObject *given)
{
    Entry *self = (Entry *)entry;
    const double *in[MAX_INPUTS];
    if (count != self->inputs || (given != NULL && !PyArray_CheckExact(given)))
        Py_RETURN_NOTIMPLEMENTED;
    if (self->code[0][0].function == NULL) {
        self->lacking = 1;
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *result = given != NULL ? Py_NewRef(given) : new_result(self); /* before reading: it may run Python code */
    if (result == NULL)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)result;
    int rank = (int)self->dims[0];
    if (!read_arguments(self, args, in) || (given != NULL && !can_take(self, array, in)) || !is_guarded(self, in) ||
        (self->scale != NULL ? (rank = invert(self, in, PyArray_DATA(array))) < 0 : !fill(self, in, PyArray_DATA(array)))) {
        Py_DECREF(result);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    }
    if (self->ranked != NULL && given == NULL && set_rank(result, rank) < 0)
        Py_CLEAR(result);
    return result;
}

/* Whether a name is one that is interned; names of keywords mostly are, and then are the same object or none. */
static int is_word(PyObject *name, PyObject *word)
{
    return name == word || (!PyUnicode_CHECK_INTERNED(name) && PyUnicode_Compare(name, word) == 0);
}

int is_out(PyObject *name)
{
    return is_word(name, name_out);
}

int is_threads(PyObject *name)
{
    return is_word(name, name_threads);
}

long threads_of(PyObject *number)
{
    if (number == Py_None)
        return 1;
    if (!PyLong_CheckExact(number))
        return 0;
    int overflow;
    long threads = PyLong_AsLongAndOverflow(number, &overflow);
    return overflow > 0 ? LONG_MAX : threads < 1 ? 0 : threads;
}

/* The plain way of one state first, for what looks like one. */
PyObject *any_answer(Entry *self, PyObject *const *args, Py_ssize_t count, PyObject *given, long threads)
{
    if (self->setting != current_setting || count != self->inputs)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *first = args[self->from[0]];
    if (!PyArray_CheckExact(first) || PyArray_NDIM((PyArrayObject *)first) == self->input[0]->ndim) {
        PyObject *result = entry_answer((PyObject *)self, args, count, given);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    return batch_answer(self, args, count, given, threads);
}

PyObject *entry_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *given = NULL;
    long threads = 1;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[count + i];
        if (is_out(name))
            given = value == Py_None ? NULL : value;
        else if (!is_threads(name) || (threads = threads_of(value)) == 0)
            Py_RETURN_NOTIMPLEMENTED;
    }
    return any_answer((Entry *)callable, args, count, given, threads);
}

int entries_prepare(void)
{
    name_out = PyUnicode_InternFromString("out");
    name_threads = PyUnicode_InternFromString("threads");
    name_rank = PyUnicode_InternFromString("rank");
    return name_out == NULL || name_threads == NULL || name_rank == NULL ? -1 : 0;
}
