/* A thin way into compiled kernels for one state: plain arguments in, a new array (or the caller's) out.
 *
 * An Entry calls one kernel. Anything but the simplest case (arguments that its inputs can read: native float64 arrays
 * of the right length, lists, tuples and dictionaries of numbers, wrenches; and a finite result) is answered with
 * NotImplemented; then the general way explains what is wrong. */
#include "_entry.h"
#include "_pseudo_inverse.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_DIMS 3
#define MAX_EXTRAS 3

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owner; /* keeps the machine code and the tables alive */
    void *function;
    int extras; /* 0, or MAX_EXTRAS: scratch, tables and numbers of code that loops over bodies */
    void *extra[MAX_EXTRAS];
    int inputs;
    Input *input[MAX_INPUTS];
    double *room; /* where inputs write what they read */
    int ndim;
    npy_intp dims[MAX_DIMS];
    npy_intp count;   /* entries of the result */
    PyObject *ranked; /* NULL, or the class of results that have a rank */
    double *scale;    /* NULL, or these results are pseudo-inverses, scaled so to judge the rank */
    double limit;     /* against this */
} Entry;

static PyObject *name_out, *name_rank; /* "out", "rank" */

#define IN const void *
#define MORE void *, void *, void *, void *
typedef void (*Call1)(int64_t, IN, void *);
typedef void (*Call2)(int64_t, IN, IN, void *);
typedef void (*Call3)(int64_t, IN, IN, IN, void *);
typedef void (*Call4)(int64_t, IN, IN, IN, IN, void *);
typedef void (*Call5)(int64_t, IN, IN, IN, IN, IN, void *);
typedef void (*Call6)(int64_t, IN, IN, IN, IN, IN, IN, void *);
typedef void (*Call7)(int64_t, IN, IN, IN, IN, IN, IN, IN, void *);
typedef void (*Call8)(int64_t, IN, IN, IN, IN, IN, IN, IN, IN, void *);
typedef void (*Loop1)(int64_t, IN, MORE);
typedef void (*Loop2)(int64_t, IN, IN, MORE);
typedef void (*Loop3)(int64_t, IN, IN, IN, MORE);
typedef void (*Loop4)(int64_t, IN, IN, IN, IN, MORE);
typedef void (*Loop5)(int64_t, IN, IN, IN, IN, IN, MORE);
typedef void (*Loop6)(int64_t, IN, IN, IN, IN, IN, IN, MORE);
typedef void (*Loop7)(int64_t, IN, IN, IN, IN, IN, IN, IN, MORE);
typedef void (*Loop8)(int64_t, IN, IN, IN, IN, IN, IN, IN, IN, MORE);

/* One state. The scratch is this entry's own; the interpreter's lock is held, so nobody else is using it. */
static void call(const Entry *self, const double *const *in, double *out)
{
    void *f = self->function;
    void *const *x = self->extra;
    if (self->extras == 0)
        switch (self->inputs) {
        case 1: ((Call1)f)(1, in[0], out); break;
        case 2: ((Call2)f)(1, in[0], in[1], out); break;
        case 3: ((Call3)f)(1, in[0], in[1], in[2], out); break;
        case 4: ((Call4)f)(1, in[0], in[1], in[2], in[3], out); break;
        case 5: ((Call5)f)(1, in[0], in[1], in[2], in[3], in[4], out); break;
        case 6: ((Call6)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], out); break;
        case 7: ((Call7)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], in[6], out); break;
        default: ((Call8)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], out); break;
        }
    else
        switch (self->inputs) {
        case 1: ((Loop1)f)(1, in[0], out, x[0], x[1], x[2]); break;
        case 2: ((Loop2)f)(1, in[0], in[1], out, x[0], x[1], x[2]); break;
        case 3: ((Loop3)f)(1, in[0], in[1], in[2], out, x[0], x[1], x[2]); break;
        case 4: ((Loop4)f)(1, in[0], in[1], in[2], in[3], out, x[0], x[1], x[2]); break;
        case 5: ((Loop5)f)(1, in[0], in[1], in[2], in[3], in[4], out, x[0], x[1], x[2]); break;
        case 6: ((Loop6)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], out, x[0], x[1], x[2]); break;
        case 7: ((Loop7)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], in[6], out, x[0], x[1], x[2]); break;
        default: ((Loop8)f)(1, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], out, x[0], x[1], x[2]); break;
        }
}

int entry_evaluate(PyObject *entry, const State *state, double *result, npy_intp count)
{
    const Entry *self = (Entry *)entry;
    if (Py_TYPE(entry) != &EntryType || self->inputs != 1 || self->input[0]->size != state->nq || self->count != count)
        return 0;
    call(self, &state->q, result);
    return 1;
}

/* Where the numbers of all arguments are; 0 if one is not plain. */
static int read_arguments(const Entry *self, PyObject *const *args, const double **in)
{
    State state = {NULL, 0};
    double *room = self->room;
    for (int i = 0; i < self->inputs; i++) {
        in[i] = input_numbers(self->input[i], args[i], room, &state);
        if (in[i] == NULL)
            return 0;
        if (i == 0)
            state = (State){in[0], self->input[0]->size};
        room += self->input[i]->room;
    }
    return 1;
}

static int overlap(const void *a, npy_intp m, const void *b, npy_intp n)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + (uintptr_t)n * sizeof(double) && y < x + (uintptr_t)m * sizeof(double);
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
        if (overlap(PyArray_DATA(array), self->count, in[i], self->input[i]->size))
            return 0;
    return 1;
}

static PyObject *new_result(const Entry *self)
{
    if (self->ranked == NULL)
        return PyArray_SimpleNew(self->ndim, self->dims, NPY_DOUBLE);
    PyArray_Descr *type = PyArray_DescrFromType(NPY_DOUBLE);
    return PyArray_NewFromDescr((PyTypeObject *)self->ranked, type, self->ndim, self->dims, NULL, NULL, 0, NULL);
}

/* Fills the result; 0 where it is not finite. */
static int fill(const Entry *self, const double *const *in, double *out)
{
    call(self, in, out);
    double sum = 0.0;
    for (npy_intp i = 0; i < self->count; i++)
        sum += out[i] * 0.0; /* nan as soon as one entry is not finite */
    return sum == 0.0;
}

/* Inverts, if it is for that; the rank. */
static int finish(const Entry *self, double *out)
{
    int size = (int)self->dims[self->ndim - 1];
    if (self->scale == NULL)
        return size;
    double matrix[MAX_SMALL * MAX_SMALL];
    memcpy(matrix, out, (size_t)self->count * sizeof(double));
    return small_pseudo_inverse(size, matrix, self->scale, self->limit, out);
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
    const Entry *self = (Entry *)entry;
    const double *in[MAX_INPUTS];
    if (count != self->inputs || (given != NULL && !PyArray_CheckExact(given)))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = given != NULL ? Py_NewRef(given) : new_result(self); /* before reading: it may run Python code */
    if (result == NULL)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)result;
    double *out = (double *)PyArray_DATA(array);
    if (!read_arguments(self, args, in) || (given != NULL && !can_take(self, array, in)) || !fill(self, in, out)) {
        Py_DECREF(result);
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (self->ranked != NULL) {
        int rank = finish(self, out);
        if (given == NULL && set_rank(result, rank) < 0)
            Py_CLEAR(result);
    }
    return result;
}

int is_out(PyObject *name)
{
    return name == name_out || PyUnicode_CompareWithASCIIString(name, "out") == 0;
}

static PyObject *entry_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *given = NULL;
    if (names != NULL && PyTuple_GET_SIZE(names) > 0) {
        if (PyTuple_GET_SIZE(names) > 1 || !is_out(PyTuple_GET_ITEM(names, 0)))
            Py_RETURN_NOTIMPLEMENTED;
        given = args[count] == Py_None ? NULL : args[count];
    }
    return entry_answer(callable, args, count, given);
}

static int read_shape(Entry *self, PyObject *shape)
{
    self->count = 1;
    self->ndim = (int)PyTuple_GET_SIZE(shape);
    if (self->ndim > MAX_DIMS)
        return 0;
    for (int i = 0; i < self->ndim; i++) {
        self->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (self->dims[i] < 0)
            return 0;
        self->count *= self->dims[i];
    }
    return 1;
}

static int read_inputs(Entry *self, PyObject *inputs)
{
    npy_intp room = 0;
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    if (count < 1 || count > MAX_INPUTS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(inputs, i);
        if (Py_TYPE(one) != &InputType)
            return 0;
        self->input[self->inputs++] = (Input *)Py_NewRef(one);
        room += ((Input *)one)->room;
    }
    self->room = PyMem_Calloc((size_t)room + 1, sizeof(double));
    return self->room != NULL;
}

static int read_extras(Entry *self, PyObject *extra)
{
    self->extras = (int)PyTuple_GET_SIZE(extra);
    if (self->extras != 0 && self->extras != MAX_EXTRAS)
        return 0;
    for (int i = 0; i < self->extras; i++)
        self->extra[i] = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(extra, i));
    return 1;
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned long long address;
    PyObject *inputs, *shape, *owner, *extra;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "KO!O!OO!", &address, &PyTuple_Type, &inputs, &PyTuple_Type, &shape, &owner,
                          &PyTuple_Type, &extra))
        return NULL;
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (!read_shape(self, shape) || !read_inputs(self, inputs) || !read_extras(self, extra) || PyErr_Occurred()) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an entry needs a few inputs, a shape, and 0 or 3 extras");
        Py_DECREF(self);
        return NULL;
    }
    self->function = (void *)(uintptr_t)address;
    self->vectorcall = entry_call;
    self->owner = Py_NewRef(owner);
    return (PyObject *)self;
}

static int entry_traverse(Entry *self, visitproc visit, void *arg)
{
    for (int i = 0; i < self->inputs; i++)
        Py_VISIT(self->input[i]);
    Py_VISIT(self->owner);
    Py_VISIT(self->ranked);
    return 0;
}

/* Nothing is cleared before: cycles go through dictionaries of entries, and a call needs all it has. */
static void entry_dealloc(Entry *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < self->inputs; i++)
        Py_DECREF(self->input[i]);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->ranked);
    PyMem_Free(self->scale);
    PyMem_Free(self->room);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static int read_scale(Entry *self, PyObject *scale)
{
    if (scale == Py_None)
        return 1;
    npy_intp size = self->dims[0];
    if (size != self->dims[1] || size > MAX_SMALL || !PyTuple_Check(scale) || PyTuple_GET_SIZE(scale) != size)
        return 0;
    self->scale = PyMem_Calloc((size_t)size + 1, sizeof(double));
    for (npy_intp i = 0; self->scale != NULL && i < size; i++)
        self->scale[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(scale, i));
    return self->scale != NULL;
}

/* The same with results of another class, which have a rank; and, with a scale, their pseudo-inverses. */
static PyObject *entry_ranked(PyObject *object, PyObject *args)
{
    const Entry *self = (Entry *)object;
    PyObject *class, *scale;
    double limit;
    if (!PyArg_ParseTuple(args, "O!Od", &PyType_Type, &class, &scale, &limit))
        return NULL;
    Entry *twin = self->ndim == 2 && PyType_IsSubtype((PyTypeObject *)class, &PyArray_Type)
                      ? (Entry *)EntryType.tp_alloc(&EntryType, 0)
                      : NULL;
    PyObject *inputs = PyTuple_New(self->inputs);
    for (int i = 0; inputs != NULL && i < self->inputs; i++)
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(self->input[i]));
    if (twin != NULL && inputs != NULL) {
        twin->vectorcall = self->vectorcall;
        twin->function = self->function;
        twin->owner = Py_NewRef(self->owner);
        twin->extras = self->extras;
        memcpy(twin->extra, self->extra, sizeof twin->extra);
        twin->ndim = self->ndim;
        memcpy(twin->dims, self->dims, sizeof twin->dims);
        twin->count = self->count;
        twin->ranked = Py_NewRef(class);
        twin->limit = limit;
    }
    if (twin == NULL || inputs == NULL || !read_inputs(twin, inputs) || !read_scale(twin, scale) || PyErr_Occurred()) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "only square matrices, not too large, have a rank");
        Py_CLEAR(twin);
    }
    Py_XDECREF(inputs);
    return (PyObject *)twin;
}

static PyMethodDef entry_methods[] = {{"ranked", entry_ranked, METH_VARARGS, "ranked(class, None or scale, limit)"},
                                      {NULL, NULL, 0, NULL}};

PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Entry",
    .tp_doc = "Entry(address, inputs, shape of the result, owner, addresses of scratch, tables and numbers): calls a "
              "kernel for one state.",
    .tp_methods = entry_methods,
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_traverse = (traverseproc)entry_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Entry, vectorcall),
};

/* ---- the module --------------------------------------------------------------------------------------------------- */

/* pseudo_inverses(matrices, scale, limit, result, ranks): for rows of matrices, all arrays contiguous. */
static PyObject *pseudo_inverses(PyObject *self, PyObject *args)
{
    PyArrayObject *matrices, *scale, *result, *ranks;
    double limit;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!dO!O!", &PyArray_Type, &matrices, &PyArray_Type, &scale, &limit, &PyArray_Type,
                          &result, &PyArray_Type, &ranks))
        return NULL;
    npy_intp size = PyArray_SIZE(scale), count = PyArray_SIZE(ranks);
    int sound = size <= MAX_SMALL && PyArray_SIZE(matrices) == count * size * size &&
                PyArray_SIZE(result) == count * size * size && PyArray_TYPE(ranks) == NPY_INT64;
    PyArrayObject *const doubles[] = {matrices, scale, result};
    for (int i = 0; i < 3; i++)
        sound = sound && PyArray_TYPE(doubles[i]) == NPY_DOUBLE && PyArray_ISCARRAY_RO(doubles[i]);
    if (!sound || !PyArray_ISCARRAY(result) || !PyArray_ISCARRAY(ranks)) {
        PyErr_SetString(PyExc_ValueError, "pseudo_inverses needs contiguous arrays of small matrices, scales and ranks");
        return NULL;
    }
    const double *from = PyArray_DATA(matrices), *scales = PyArray_DATA(scale);
    double *to = PyArray_DATA(result);
    npy_int64 *rank = PyArray_DATA(ranks);
    for (npy_intp i = 0; i < count; i++)
        rank[i] = small_pseudo_inverse((int)size, from + i * size * size, scales, limit, to + i * size * size);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"pseudo_inverses", pseudo_inverses, METH_VARARGS, "Of small matrices."},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_entry", "Thin entry into compiled kernels.", -1, functions,
                                    NULL, NULL, NULL, NULL};

static int add_type(PyObject *m, const char *name, PyTypeObject *type)
{
    if (PyType_Ready(type) < 0)
        return -1;
    Py_INCREF(type);
    if (PyModule_AddObject(m, name, (PyObject *)type) < 0) {
        Py_DECREF(type);
        return -1;
    }
    return 0;
}

PyMODINIT_FUNC PyInit__entry(void)
{
    import_array();
    name_out = PyUnicode_InternFromString("out");
    name_rank = PyUnicode_InternFromString("rank");
    if (name_out == NULL || name_rank == NULL || inputs_prepare() < 0 || methods_prepare() < 0)
        return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m != NULL &&
        (PyModule_AddIntMacro(m, MAX_SMALL) < 0 || PyModule_AddIntMacro(m, MAX_INPUTS) < 0 ||
         PyModule_AddIntMacro(m, MAX_QUATERNIONS) < 0))
        Py_CLEAR(m);
    if (m != NULL && (add_type(m, "Entry", &EntryType) < 0 || add_type(m, "Input", &InputType) < 0 ||
                      add_type(m, "Method", &MethodType) < 0))
        Py_CLEAR(m);
    return m;
}
