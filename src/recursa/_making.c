/* Entries as objects: into a kernel, and their kin with a rank, with arguments in another order, with a guard. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_pseudo_inverse.h"
#include <stddef.h>
#include <structmember.h>
#include <stdint.h>
#include <string.h>

static int read_shape(Entry *self, PyObject *shape)
{
    if (PyTuple_GET_SIZE(shape) > MAX_DIMS)
        return 0;
    self->ndim = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < self->ndim; i++) {
        self->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (self->dims[i] < 0)
            return 0;
    }
    self->count = product(self->dims, self->ndim);
    return self->count >= 0;
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
        self->from[self->inputs] = (int)i;
        self->input[self->inputs++] = (Input *)Py_NewRef(one);
        if (((Input *)one)->room > NPY_MAX_INTP - 1 - room)
            return 0;
        room += ((Input *)one)->room;
    }
    self->room = PyMem_Calloc((size_t)room + 1, sizeof(double));
    return self->room != NULL;
}

static void *address_of(PyObject *number)
{
    return (void *)(uintptr_t)PyLong_AsUnsignedLongLong(number);
}

int read_code(Code *code, PyObject *given)
{
    if (given == Py_None)
        return 1;
    Py_ssize_t extras = PyTuple_Check(given) ? PyTuple_GET_SIZE(given) - 2 : -1;
    if (extras != 0 && extras != MAX_EXTRAS)
        return 0;
    code->width = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, 0));
    code->function = address_of(PyTuple_GET_ITEM(given, 1));
    code->extras = (int)extras;
    for (int i = 0; i < code->extras; i++)
        code->extra[i] = address_of(PyTuple_GET_ITEM(given, 2 + i));
    return code->width > 0;
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *inputs, *shape, *owner, *one, *wide, *one_single, *wide_single;
    int judged;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O(OOOO)p", &PyTuple_Type, &inputs, &PyTuple_Type, &shape, &owner, &one, &wide,
                          &one_single, &wide_single, &judged))
        return NULL;
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (!read_shape(self, shape) || !read_inputs(self, inputs) || !read_code(&self->code[0][0], one) ||
        !read_code(&self->code[0][1], wide) || !read_code(&self->code[1][0], one_single) ||
        !read_code(&self->code[1][1], wide_single) || PyErr_Occurred()) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an entry needs a few inputs, a shape, and code with 0 or 3 extras");
        Py_DECREF(self);
        return NULL;
    }
    self->vectorcall = entry_call;
    self->owner = Py_NewRef(owner);
    self->setting = current_setting;
    self->judged = judged;
    return (PyObject *)self;
}

static int entry_traverse(Entry *self, visitproc visit, void *arg)
{
    for (int i = 0; i < self->inputs; i++)
        Py_VISIT(self->input[i]);
    Py_VISIT(self->owner);
    Py_VISIT(self->ranked);
    Py_VISIT(self->guard);
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
    Py_XDECREF(self->guard);
    Py_XDECREF(self->kept[0]);
    Py_XDECREF(self->kept[1]);
    PyMem_Free(self->margins);
    PyMem_Free(self->scale);
    PyMem_Free(self->factor);
    PyMem_Free(self->room);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static double *copied(const double *numbers, npy_intp count)
{
    double *copy = PyMem_Calloc((size_t)count + 1, sizeof(double));
    if (copy != NULL && numbers != NULL)
        memcpy(copy, numbers, (size_t)count * sizeof(double));
    return copy;
}

/* The results of a kernel are factors from now on, of which pseudo-inverses are made; 0 if they cannot be. */
static int read_scale(Entry *self, PyObject *scale)
{
    if (scale == Py_None)
        return self->dims[0] == self->dims[1];
    const npy_intp rows = self->dims[0];
    if (rows > MAX_SMALL || !PyTuple_Check(scale) || PyTuple_GET_SIZE(scale) != rows)
        return 0;
    self->scale = copied(NULL, rows);
    self->factor = copied(NULL, self->count);
    for (npy_intp i = 0; self->scale != NULL && i < rows; i++)
        self->scale[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(scale, i));
    self->columns = self->dims[1];
    self->dims[1] = rows;
    self->count = rows * rows;
    return self->scale != NULL && self->factor != NULL;
}

/* Gives a twin what makes an entry one of its kind; 0 if there is no memory. */
static int copy_kind(Entry *twin, const Entry *self)
{
    twin->ranked = Py_XNewRef(self->ranked);
    twin->limit = self->limit;
    twin->columns = self->columns;
    if (self->scale != NULL && ((twin->scale = copied(self->scale, self->dims[0])) == NULL ||
                                (twin->factor = copied(NULL, self->dims[0] * self->columns)) == NULL))
        return 0;
    twin->guard = (Entry *)Py_XNewRef((PyObject *)self->guard);
    memcpy(twin->guarded, self->guarded, sizeof twin->guarded);
    return self->guard == NULL || (twin->margins = copied(NULL, self->guard->count)) != NULL;
}

/* Another entry into the same kernel, of the same kind; NULL with an exception. */
static Entry *twin_of(const Entry *self)
{
    PyObject *inputs = PyTuple_New(self->inputs);
    if (inputs == NULL)
        return NULL;
    for (int i = 0; i < self->inputs; i++)
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(self->input[i]));
    Entry *twin = (Entry *)EntryType.tp_alloc(&EntryType, 0);
    if (twin != NULL && read_inputs(twin, inputs) && copy_kind(twin, self)) {
        twin->vectorcall = self->vectorcall;
        twin->owner = Py_NewRef(self->owner);
        twin->setting = self->setting;
        twin->judged = self->judged;
        for (int i = 0; i < 2; i++) {
            twin->code[i][0] = self->code[i][0];
            if (self->code[i][1].extras == 0) /* a scratch belongs to one entry */
                twin->code[i][1] = self->code[i][1];
        }
        memcpy(twin->from, self->from, sizeof twin->from);
        twin->ndim = self->ndim;
        memcpy(twin->dims, self->dims, sizeof twin->dims);
        twin->count = self->count;
    } else {
        Py_CLEAR(twin);
        PyErr_NoMemory();
    }
    Py_DECREF(inputs);
    return twin;
}

/* A twin that is sound, or NULL with an exception. */
static PyObject *sound(Entry *twin, int is_sound, const char *message)
{
    if (!is_sound || PyErr_Occurred()) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, message);
        Py_CLEAR(twin);
    }
    return (PyObject *)twin;
}

/* The same with results of another class, which have a rank; with a scale they are pseudo-inverses of B B*, B what the kernel computes. */
static PyObject *entry_ranked(PyObject *object, PyObject *args)
{
    const Entry *self = (Entry *)object;
    PyObject *class, *scale;
    double limit;
    if (!PyArg_ParseTuple(args, "O!Od", &PyType_Type, &class, &scale, &limit))
        return NULL;
    Entry *twin = twin_of(self);
    if (twin == NULL)
        return NULL;
    Py_XSETREF(twin->ranked, Py_NewRef(class));
    twin->limit = limit;
    int fits = self->scale == NULL && self->ndim == 2 && PyType_IsSubtype((PyTypeObject *)class, &PyArray_Type) && read_scale(twin, scale);
    return sound(twin, fits, "only square matrices, and factors of a few rows, have a rank");
}

/* Different whole numbers below a bound, as many as there are inputs of an entry. */
static int read_places(const Entry *entry, PyObject *numbers, int bound, int *places)
{
    int taken[MAX_INPUTS] = {0};
    if (PyTuple_GET_SIZE(numbers) != entry->inputs)
        return 0;
    for (int i = 0; i < entry->inputs; i++) {
        Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
        if (place < 0 || place >= bound || taken[place]++)
            return 0;
        places[i] = (int)place;
    }
    return 1;
}

/* The same for arguments in another order. */
static PyObject *entry_ordered(PyObject *object, PyObject *args)
{
    PyObject *places;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &places))
        return NULL;
    Entry *twin = twin_of((Entry *)object);
    return twin == NULL ? NULL : sound(twin, read_places(twin, places, twin->inputs, twin->from), "no order of the inputs");
}

/* The same that declines where another entry, which has some of the inputs, does not give positive numbers. */
static PyObject *entry_guarded(PyObject *object, PyObject *args)
{
    const Entry *self = (Entry *)object;
    PyObject *guard, *places;
    if (!PyArg_ParseTuple(args, "O!O!", &EntryType, &guard, &PyTuple_Type, &places))
        return NULL;
    Entry *twin = twin_of(self);
    if (twin == NULL)
        return NULL;
    int fits = self->guard == NULL && ((Entry *)guard)->guard == NULL && ((Entry *)guard)->code[0][0].function != NULL;
    if (fits) {
        twin->guard = (Entry *)Py_NewRef(guard);
        twin->margins = copied(NULL, twin->guard->count);
        fits = twin->margins != NULL && read_places(twin->guard, places, self->inputs, twin->guarded);
    }
    for (int i = 0; fits && i < twin->guard->inputs; i++)
        fits = twin->guard->input[i]->size == self->input[twin->guarded[i]]->size;
    return sound(twin, fits, "one guard, which has inputs of the same sizes");
}

static PyMethodDef entry_methods[] = {
    {"ranked", entry_ranked, METH_VARARGS, "ranked(class, None or scale, limit)"},
    {"ordered", entry_ordered, METH_VARARGS, "ordered(argument of every input)"},
    {"guarded", entry_guarded, METH_VARARGS, "guarded(entry, input of ours for every input of its)"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef entry_members[] = {
    {"lacking", T_INT, offsetof(Entry, lacking), READONLY, "Whether a call needed code that it has not."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Entry",
    .tp_doc = "Entry(inputs, shape of the result, owner, codes, whether results of batches have to be finite): calls a "
              "kernel. Codes are for one state and for batches, then the same in single precision; each is None or "
              "(width, address, *addresses of scratch, tables and numbers).",
    .tp_methods = entry_methods,
    .tp_members = entry_members,
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_traverse = (traverseproc)entry_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Entry, vectorcall),
};
