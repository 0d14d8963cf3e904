/* A thin way into a compiled kernel for one state: plain float64 arrays in, a new array out.
 *
 * Anything but the simplest case (exact ndarrays, native float64, one-dimensional, contiguous, of the right length, and a
 * finite result) is answered with NotImplemented; the caller then takes the general way, which explains what is wrong. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stdint.h>

#define MAX_INPUTS 4
#define MAX_DIMS 3
#define MAX_EXTRAS 3
#define MAX_QUATERNIONS 16
#define UNIT_TOLERANCE 1e-6

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owner; /* keeps the machine code and the tables alive */
    void *function;
    int extras; /* 0, or MAX_EXTRAS: scratch, tables and numbers of code that loops over bodies */
    void *extra[MAX_EXTRAS];
    int inputs;
    npy_intp sizes[MAX_INPUTS];
    int ndim;
    npy_intp dims[MAX_DIMS];
    npy_intp count; /* entries of the result */
    int quaternions; /* in the first input, which is q */
    npy_intp starts[MAX_QUATERNIONS];
} Entry;

#define IN const void *
#define MORE void *, void *, void *, void *
typedef void (*Call1)(int64_t, IN, void *);
typedef void (*Call2)(int64_t, IN, IN, void *);
typedef void (*Call3)(int64_t, IN, IN, IN, void *);
typedef void (*Call4)(int64_t, IN, IN, IN, IN, void *);
typedef void (*Loop1)(int64_t, IN, MORE);
typedef void (*Loop2)(int64_t, IN, IN, MORE);
typedef void (*Loop3)(int64_t, IN, IN, IN, MORE);
typedef void (*Loop4)(int64_t, IN, IN, IN, IN, MORE);

/* One state. The scratch is this entry's own; the interpreter's lock is held, so nobody else is using it. */
static void call(const Entry *self, const void **in, double *out)
{
    void *f = self->function;
    void *const *x = self->extra;
    if (self->extras == 0)
        switch (self->inputs) {
        case 1: ((Call1)f)(1, in[0], out); break;
        case 2: ((Call2)f)(1, in[0], in[1], out); break;
        case 3: ((Call3)f)(1, in[0], in[1], in[2], out); break;
        default: ((Call4)f)(1, in[0], in[1], in[2], in[3], out); break;
        }
    else
        switch (self->inputs) {
        case 1: ((Loop1)f)(1, in[0], out, x[0], x[1], x[2]); break;
        case 2: ((Loop2)f)(1, in[0], in[1], out, x[0], x[1], x[2]); break;
        case 3: ((Loop3)f)(1, in[0], in[1], in[2], out, x[0], x[1], x[2]); break;
        default: ((Loop4)f)(1, in[0], in[1], in[2], in[3], out, x[0], x[1], x[2]); break;
        }
}

static int is_plain(PyObject *object, npy_intp size)
{
    if (!PyArray_CheckExact(object))
        return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == 1 && PyArray_DIM(array, 0) == size &&
           PyArray_ISCARRAY_RO(array);
}

/* Whether every quaternion has unit length to the tolerance; nan has not, and the general way lets it through. */
static int are_unit(const Entry *self, const double *q)
{
    for (int i = 0; i < self->quaternions; i++) {
        const double *p = q + self->starts[i];
        double norm = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
        if (!(fabs(norm - 1.0) <= UNIT_TOLERANCE))
            return 0;
    }
    return 1;
}

static PyObject *entry_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Entry *self = (Entry *)callable;
    const void *in[MAX_INPUTS];
    if (names != NULL || PyVectorcall_NARGS(nargsf) != self->inputs)
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < self->inputs; i++) {
        if (!is_plain(args[i], self->sizes[i]))
            Py_RETURN_NOTIMPLEMENTED;
        in[i] = PyArray_DATA((PyArrayObject *)args[i]);
    }
    if (!are_unit(self, (const double *)in[0]))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = PyArray_SimpleNew(self->ndim, self->dims, NPY_DOUBLE);
    if (result == NULL)
        return NULL;
    double *out = (double *)PyArray_DATA((PyArrayObject *)result);
    call(self, in, out);
    double sum = 0.0;
    for (npy_intp i = 0; i < self->count; i++)
        sum += out[i] * 0.0; /* nan as soon as one entry is not finite */
    if (sum != 0.0) {
        Py_DECREF(result);
        Py_RETURN_NOTIMPLEMENTED;
    }
    return result;
}

static int read_sizes(PyObject *tuple, npy_intp *sizes, int most)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > most) {
        PyErr_SetString(PyExc_ValueError, "a tuple of few sizes is needed");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (sizes[i] < 0)
            return -1;
    }
    return (int)PyTuple_GET_SIZE(tuple);
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned long long address;
    PyObject *sizes, *dims, *starts, *owner, *extra;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "KOOOOO!", &address, &sizes, &dims, &starts, &owner, &PyTuple_Type, &extra))
        return NULL;
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->inputs = read_sizes(sizes, self->sizes, MAX_INPUTS);
    self->ndim = self->inputs < 0 ? -1 : read_sizes(dims, self->dims, MAX_DIMS);
    self->quaternions = self->ndim < 0 ? -1 : read_sizes(starts, self->starts, MAX_QUATERNIONS);
    for (int i = 0; i < self->quaternions; i++)
        if (self->starts[i] + 4 > self->sizes[0])
            self->quaternions = -1;
    self->extras = (int)PyTuple_GET_SIZE(extra);
    for (int i = 0; i < self->extras && i < MAX_EXTRAS; i++)
        self->extra[i] = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(extra, i));
    int few = self->inputs < 1 || self->ndim < 0 || self->quaternions < 0;
    if (few || PyErr_Occurred() || (self->extras != 0 && self->extras != MAX_EXTRAS)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an entry needs inputs, quaternions within the first, 0 or 3 extras");
        Py_DECREF(self);
        return NULL;
    }
    self->count = 1;
    for (int i = 0; i < self->ndim; i++)
        self->count *= self->dims[i];
    self->function = (void *)(uintptr_t)address;
    self->vectorcall = entry_call;
    Py_INCREF(owner);
    self->owner = owner;
    return (PyObject *)self;
}

static void entry_dealloc(Entry *self)
{
    Py_XDECREF(self->owner);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Entry",
    .tp_doc = "Entry(address, input sizes, result shape, starts of quaternions in q, owner, addresses of scratch, tables "
              "and numbers): calls a kernel for one state.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Entry, vectorcall),
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_entry", "Thin entry into compiled kernels.", -1, NULL,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__entry(void)
{
    import_array();
    if (PyType_Ready(&EntryType) < 0)
        return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m == NULL)
        return NULL;
    Py_INCREF(&EntryType);
    if (PyModule_AddObject(m, "Entry", (PyObject *)&EntryType) < 0) {
        Py_DECREF(&EntryType);
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
