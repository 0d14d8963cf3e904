/* A thin way into compiled kernels for one state: plain float64 arrays in, a new array (or the caller's) out.
 *
 * An Entry calls one kernel. Anything but the simplest case (exact ndarrays, native float64, one-dimensional,
 * contiguous, of the right length, and a finite result) is answered with NotImplemented; then the general way explains
 * what is wrong.
 *
 * A Method stands in a class in place of a Python function. It looks up how it is called (which options, in which
 * spelling) among the calls its object has learned; where there is an entry that does not decline, the function never
 * runs. */
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
#define MAX_ARGUMENTS 16
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
    int coordinates; /* how many inputs, the first ones, hold coordinates */
    int quaternions; /* in each of these */
    npy_intp starts[MAX_QUATERNIONS];
} Entry;

static PyObject *name_out, *name_calls; /* "out", "_calls" */

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

static int overlap(const void *a, npy_intp m, const void *b, npy_intp n)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + (uintptr_t)n * sizeof(double) && y < x + (uintptr_t)m * sizeof(double);
}

/* Whether a caller's array can take the result as it is; one that shares memory with an input cannot. */
static int can_take(const Entry *self, PyObject *object, const void **in)
{
    if (!PyArray_CheckExact(object))
        return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != self->ndim || !PyArray_ISCARRAY(array))
        return 0;
    for (int i = 0; i < self->ndim; i++)
        if (PyArray_DIM(array, i) != self->dims[i])
            return 0;
    for (int i = 0; i < self->inputs; i++)
        if (overlap(PyArray_DATA(array), self->count, in[i], self->sizes[i]))
            return 0;
    return 1;
}

/* The result for one state, in ``given`` if that is not NULL; or NotImplemented. */
static PyObject *answer(const Entry *self, PyObject *const *args, Py_ssize_t count, PyObject *given)
{
    const void *in[MAX_INPUTS];
    if (count != self->inputs)
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < self->inputs; i++) {
        if (!is_plain(args[i], self->sizes[i]))
            Py_RETURN_NOTIMPLEMENTED;
        in[i] = PyArray_DATA((PyArrayObject *)args[i]);
    }
    for (int i = 0; i < self->coordinates; i++)
        if (!are_unit(self, (const double *)in[i]))
            Py_RETURN_NOTIMPLEMENTED;
    if (given != NULL && !can_take(self, given, in))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = given != NULL ? Py_NewRef(given) : PyArray_SimpleNew(self->ndim, self->dims, NPY_DOUBLE);
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

static int is_out(PyObject *name)
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
    return answer((Entry *)callable, args, count, given);
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
    int coordinates;
    if (!PyArg_ParseTuple(args, "KOOiOOO!", &address, &sizes, &dims, &coordinates, &starts, &owner, &PyTuple_Type,
                          &extra))
        return NULL;
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->inputs = read_sizes(sizes, self->sizes, MAX_INPUTS);
    self->ndim = self->inputs < 0 ? -1 : read_sizes(dims, self->dims, MAX_DIMS);
    self->quaternions = self->ndim < 0 ? -1 : read_sizes(starts, self->starts, MAX_QUATERNIONS);
    self->coordinates = coordinates;
    for (int k = 0; k < coordinates && k < self->inputs; k++)
        for (int i = 0; i < self->quaternions; i++)
            if (self->starts[i] + 4 > self->sizes[k])
                self->quaternions = -1;
    self->extras = (int)PyTuple_GET_SIZE(extra);
    for (int i = 0; i < self->extras && i < MAX_EXTRAS; i++)
        self->extra[i] = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(extra, i));
    int few = self->inputs < 1 || self->ndim < 0 || self->quaternions < 0;
    few |= coordinates < 0 || coordinates > self->inputs;
    if (few || PyErr_Occurred() || (self->extras != 0 && self->extras != MAX_EXTRAS)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an entry needs inputs, quaternions within coordinates, 0 or 3 extras");
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
    .tp_doc = "Entry(address, input sizes, result shape, number of inputs that are coordinates, starts of quaternions "
              "in these, owner, addresses of scratch, tables and numbers): calls a kernel for one state.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Entry, vectorcall),
};

/* ---- methods --------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* the general way */
    PyObject *name;
    PyObject *learn;
    PyObject *dict;
} Method;

/* A call taken apart. */
typedef struct {
    PyObject *inputs[MAX_INPUTS];
    Py_ssize_t count; /* of inputs */
    PyObject *out;    /* or NULL */
    int bare;         /* nothing but inputs by position, and perhaps out */
} Parts;

static int is_option(PyObject *object)
{
    return PyUnicode_CheckExact(object) || object == Py_None || PyBool_Check(object);
}

/* Whether a call consists of arrays and options only. ``args`` are those after self. */
static int take_apart(PyObject *const *args, Py_ssize_t count, PyObject *names, Parts *parts)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count + named > MAX_ARGUMENTS)
        return 0;
    parts->count = 0;
    parts->out = NULL;
    parts->bare = 1;
    for (Py_ssize_t i = 0; i < count + named; i++) {
        PyObject *one = args[i];
        int array = PyArray_CheckExact(one);
        if (i >= count && is_out(PyTuple_GET_ITEM(names, i - count))) {
            if (!array && one != Py_None)
                return 0;
            parts->out = array ? one : NULL;
        } else if (array) {
            if (parts->count == MAX_INPUTS)
                return 0;
            parts->inputs[parts->count++] = one;
            parts->bare &= i < count;
        } else if (is_option(one)) {
            parts->bare = 0;
        } else
            return 0;
    }
    return 1;
}

/* How a method is called: its name alone, or (name, *positional, names of keywords, *theirs), an ellipsis per array. */
static PyObject *spelling(const Method *self, PyObject *const *args, Py_ssize_t count, PyObject *names, int bare)
{
    if (bare)
        return Py_NewRef(self->name);
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names), at = 0;
    PyObject *key = PyTuple_New(1 + count + (named > 0 ? 1 + named : 0));
    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, at++, Py_NewRef(self->name));
    for (Py_ssize_t i = 0; i < count + named; i++) {
        if (i == count)
            PyTuple_SET_ITEM(key, at++, Py_NewRef(names));
        PyTuple_SET_ITEM(key, at++, Py_NewRef(PyArray_CheckExact(args[i]) ? Py_Ellipsis : args[i]));
    }
    return key;
}

/* Whether the inputs are what entries are for; worth learning then. */
static int is_single_state(const Parts *parts)
{
    for (Py_ssize_t i = 0; i < parts->count; i++) {
        PyArrayObject *array = (PyArrayObject *)parts->inputs[i];
        if (PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_DOUBLE)
            return 0;
    }
    return parts->count > 0;
}

static PyObject *method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Method *self = (Method *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Parts parts;
    if (count < 1 || !take_apart(args + 1, count - 1, names, &parts))
        return PyObject_Vectorcall(self->function, args, nargsf, names);
    PyObject *calls = PyObject_GetAttr(args[0], name_calls);
    if (calls == NULL || !PyDict_CheckExact(calls)) { /* not an object that learns */
        PyErr_Clear();
        Py_XDECREF(calls);
        return PyObject_Vectorcall(self->function, args, nargsf, names);
    }
    PyObject *result = NULL, *key = spelling(self, args + 1, count - 1, names, parts.bare);
    PyObject *entry = key == NULL ? NULL : PyDict_GetItemWithError(calls, key);
    int known = entry != NULL;
    if (known && Py_TYPE(entry) == &EntryType) {
        Py_INCREF(entry);
        result = answer((Entry *)entry, parts.inputs, parts.count, parts.out);
        Py_DECREF(entry);
    } else if (!PyErr_Occurred())
        result = Py_NewRef(Py_NotImplemented);
    if (result == Py_NotImplemented) {
        Py_DECREF(result);
        result = PyObject_Vectorcall(self->function, args, nargsf, names);
        if (result != NULL && !known && is_single_state(&parts)) {
            PyObject *learned = PyObject_CallFunctionObjArgs(self->learn, args[0], key, NULL);
            Py_XDECREF(learned);
            if (learned == NULL)
                Py_CLEAR(result);
        }
    }
    Py_XDECREF(key);
    Py_DECREF(calls);
    return result;
}

static PyObject *method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *name, *learn;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OUO", &function, &name, &learn))
        return NULL;
    Method *self = (Method *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->function = Py_NewRef(function);
    self->learn = Py_NewRef(learn);
    self->name = Py_NewRef(name);
    self->vectorcall = method_call;
    return (PyObject *)self;
}

static int method_traverse(Method *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->learn);
    Py_VISIT(self->dict);
    return 0;
}

static int method_clear(Method *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->learn);
    Py_CLEAR(self->dict);
    return 0;
}

static void method_dealloc(Method *self)
{
    PyObject_GC_UnTrack(self);
    method_clear(self);
    Py_CLEAR(self->name);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *method_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *method_repr(Method *self)
{
    return PyObject_Repr(self->function);
}

static PyGetSetDef method_attributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject MethodType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Method",
    .tp_doc = "Method(function, name, learn): the function, or an entry that object._calls holds for this spelling of "
              "a call. After a call in a spelling that is not there, learn(object, spelling) may put one there.",
    .tp_basicsize = sizeof(Method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = method_new,
    .tp_dealloc = (destructor)method_dealloc,
    .tp_traverse = (traverseproc)method_traverse,
    .tp_clear = (inquiry)method_clear,
    .tp_repr = (reprfunc)method_repr,
    .tp_getset = method_attributes,
    .tp_dictoffset = offsetof(Method, dict),
    .tp_descr_get = method_get,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Method, vectorcall),
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_entry", "Thin entry into compiled kernels.", -1, NULL,
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
    name_calls = PyUnicode_InternFromString("_calls");
    PyObject *m = name_out == NULL || name_calls == NULL ? NULL : PyModule_Create(&module);
    if (m != NULL && (add_type(m, "Entry", &EntryType) < 0 || add_type(m, "Method", &MethodType) < 0))
        Py_CLEAR(m);
    return m;
}
