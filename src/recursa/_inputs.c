/* Reading the arguments of a single state. Everything that is not plain is left to the general way, which explains. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <math.h>
#include <string.h>

#define MAX_ROWS (NPY_MAX_INTP / 1024) /* so that sums of sizes and the room for poses do not overflow */

/* A number as NumPy reads it from a list. No bool, no other precision: these decide about the type of a result. */
static int read_number(PyObject *object, double *number)
{
    if (PyFloat_CheckExact(object) || PyArray_IsScalar(object, Double)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (!PyLong_CheckExact(object))
        return 0;
    int overflow;
    long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    *number = (double)whole;
    return !overflow;
}

int read_vector(PyObject *given, npy_intp size, double *numbers)
{
    if (PyList_CheckExact(given) || PyTuple_CheckExact(given)) {
        if (PySequence_Fast_GET_SIZE(given) != size)
            return 0;
        PyObject **items = PySequence_Fast_ITEMS(given);
        for (npy_intp i = 0; i < size; i++)
            if (!read_number(items[i], numbers + i))
                return 0;
        return 1;
    }
    if (!PyArray_CheckExact(given))
        return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != size || !PyArray_ISBEHAVED_RO(array))
        return 0;
    const char *data = PyArray_BYTES(array);
    npy_intp step = PyArray_STRIDE(array, 0);
    if (PyArray_TYPE(array) == NPY_DOUBLE)
        for (npy_intp i = 0; i < size; i++)
            numbers[i] = *(const double *)(data + i * step);
    else if (PyArray_TYPE(array) == NPY_INT64)
        for (npy_intp i = 0; i < size; i++)
            numbers[i] = (double)*(const npy_int64 *)(data + i * step);
    else
        return 0;
    return 1;
}

static PyObject *place_of(const Input *self, PyObject *name)
{
    return PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(self->places, name) : NULL;
}

/* A vector by the names of joints. */
static int read_names(const Input *self, PyObject *given, double *numbers)
{
    memcpy(numbers, PyArray_DATA((PyArrayObject *)self->neutral), (size_t)self->size * sizeof(double));
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(given, &at, &name, &value)) {
        PyObject *place = place_of(self, name);
        if (place == NULL)
            return 0;
        npy_intp start = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0));
        npy_intp count = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
        if (!(count == 1 ? read_number(value, numbers + start) : read_vector(value, count, numbers + start)))
            return 0;
    }
    return 1;
}

/* ---- wrenches -------------------------------------------------------------------------------------------------- */

static PyObject *word_at, *word_force, *word_moment, *word_point, *word_frame; /* interned */

static int read_attribute(PyObject *object, PyObject *name, double *numbers)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int found = value != NULL && read_vector(value, 3, numbers);
    Py_XDECREF(value);
    return found;
}

/* Which link a wrench acts on, and whether it is in world axes. */
static int read_place(const Input *self, PyObject *wrench, npy_intp *row, int *world)
{
    PyObject *link = PyObject_GetAttr(wrench, word_at);
    PyObject *frame = link == NULL ? NULL : PyObject_GetAttr(wrench, word_frame);
    PyObject *place = frame == NULL ? NULL : place_of(self, link);
    int named = place != NULL && PyUnicode_CheckExact(frame);
    if (named) {
        *row = PyLong_AsSsize_t(place);
        *world = PyUnicode_CompareWithASCIIString(frame, "world") == 0;
        named = *world || PyUnicode_CompareWithASCIIString(frame, "link") == 0;
    }
    Py_XDECREF(link);
    Py_XDECREF(frame);
    return named;
}

/* The components of a vector of the world in link axes. ``pose`` is a homogeneous matrix, link to world. */
static void turn(const double *pose, double *x)
{
    double turned[3];
    for (int i = 0; i < 3; i++)
        turned[i] = pose[i] * x[0] + pose[4 + i] * x[1] + pose[8 + i] * x[2];
    memcpy(x, turned, sizeof turned);
}

/* Adds a wrench to its row: moment and force at the link's origin in link axes, as ``wrench_array`` has it. */
static int add_wrench(const Input *self, PyObject *wrench, double *total, const State *state, int *posed)
{
    double force[3], moment[3], point[3];
    npy_intp row = 0;
    int world = 0;
    if ((PyObject *)Py_TYPE(wrench) != self->wrench || !read_place(self, wrench, &row, &world) ||
        !read_attribute(wrench, word_force, force) || !read_attribute(wrench, word_moment, moment) ||
        !read_attribute(wrench, word_point, point))
        return 0;
    if (world) {
        double *poses = total + self->size;
        if (!*posed) {
            PyObject *entry = PyDict_GetItemWithError(self->entries, self->poses);
            *posed = entry != NULL && entry_evaluate(entry, state, poses, 16 * self->dims[0]);
            if (!*posed)
                return 0;
        }
        turn(poses + 16 * row, force);
        turn(poses + 16 * row, moment);
    }
    double *here = total + 6 * row;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        here[i] += moment[i] + (point[j] * force[k] - point[k] * force[j]);
        here[3 + i] += force[i];
    }
    return 1;
}

/* Six numbers, (moment, force) in link axes at the origin of the link, or a wrench, by the link's name. */
static int add_named(const Input *self, PyObject *link, PyObject *value, double *total, const State *state, int *posed)
{
    double numbers[6];
    PyObject *place = place_of(self, link);
    if (place == NULL)
        return 0;
    if ((PyObject *)Py_TYPE(value) == self->wrench) {
        PyObject *at = PyObject_GetAttr(value, word_at);
        int same = at != NULL && place_of(self, at) == place;
        Py_XDECREF(at);
        return same && add_wrench(self, value, total, state, posed);
    }
    if (!read_vector(value, 6, numbers))
        return 0;
    for (int i = 0; i < 6; i++)
        total[6 * PyLong_AsSsize_t(place) + i] += numbers[i];
    return 1;
}

/* By the names of links. Attributes may run Python code, which may change the dictionary: then the general way reads it. */
static int read_named_wrenches(const Input *self, PyObject *given, double *total, const State *state)
{
    PyObject *link, *value;
    Py_ssize_t at = 0, size = PyDict_GET_SIZE(given);
    int posed = 0, sound = 1;
    while (sound && PyDict_Next(given, &at, &link, &value)) {
        Py_INCREF(link);
        Py_INCREF(value);
        sound = add_named(self, link, value, total, state, &posed) && PyDict_GET_SIZE(given) == size;
        Py_DECREF(link);
        Py_DECREF(value);
    }
    return sound;
}

/* One wrench or several; a list may change while it is read, as a dictionary may. */
static int read_wrenches(const Input *self, PyObject *given, double *total, const State *state)
{
    int posed = 0, sound = 1;
    memset(total, 0, (size_t)self->size * sizeof(double));
    if (PyDict_CheckExact(given))
        return read_named_wrenches(self, given, total, state);
    if (!PyList_CheckExact(given) && !PyTuple_CheckExact(given))
        return add_wrench(self, given, total, state, &posed);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(given);
    for (Py_ssize_t i = 0; sound && i < count; i++) {
        PyObject *wrench = Py_NewRef(PySequence_Fast_GET_ITEM(given, i));
        sound = add_wrench(self, wrench, total, state, &posed) && PySequence_Fast_GET_SIZE(given) == count;
        Py_DECREF(wrench);
    }
    return sound;
}

/* ---- any argument ---------------------------------------------------------------------------------------------- */

static int numbers_into(const Input *self, PyObject *given, double *room, const State *state)
{
    if (self->wrench != NULL)
        return !PyArray_Check(given) && read_wrenches(self, given, room, state);
    if (self->ndim != 1)
        return 0;
    if (PyDict_CheckExact(given))
        return self->places != NULL && read_names(self, given, room);
    return read_vector(given, self->size, room);
}

int input_is_sound(const Input *self, const double *numbers)
{
    for (int i = 0; i < self->quaternions; i++)
        if (!is_unit(numbers + self->starts[i], 1e-6))
            return 0;
    return 1;
}

const double *input_read(const Input *self, PyObject *given, double *room, const State *state)
{
    if (numbers_into(self, given, room, state))
        return room;
    if (PyErr_Occurred() && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_LookupError)))
        PyErr_Clear(); /* a name that cannot be looked up: the general way says so */
    return NULL;
}

/* ---- the type -------------------------------------------------------------------------------------------------- */

static int read_shape(Input *self, PyObject *shape)
{
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim < 1 || ndim > 2)
        return 0;
    self->ndim = (int)ndim;
    for (int i = 0; i < self->ndim; i++) {
        self->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (self->dims[i] < 0)
            return 0;
    }
    self->size = product(self->dims, self->ndim);
    return self->size >= 0 && self->dims[0] <= MAX_ROWS;
}

static int read_starts(Input *self, PyObject *starts)
{
    if (PyTuple_GET_SIZE(starts) > MAX_QUATERNIONS)
        return 0;
    self->quaternions = (int)PyTuple_GET_SIZE(starts);
    for (int i = 0; i < self->quaternions; i++) {
        self->starts[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(starts, i));
        if (self->starts[i] < 0 || self->starts[i] > self->size - 4)
            return 0;
    }
    return 1;
}

/* Whether every place lies within the argument: reading trusts them. */
static int places_fit(const Input *self)
{
    PyObject *name, *place;
    Py_ssize_t at = 0;
    while (PyDict_Next(self->places, &at, &name, &place)) {
        if (self->wrench != NULL) {
            npy_intp row = PyLong_AsSsize_t(place);
            if (row < 0 || row >= self->dims[0])
                return 0;
            continue;
        }
        if (!PyTuple_CheckExact(place) || PyTuple_GET_SIZE(place) != 2)
            return 0;
        npy_intp start = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0));
        npy_intp count = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
        if (start < 0 || count < 0 || count > self->size || start > self->size - count)
            return 0;
    }
    return 1;
}

/* NULL, or a plain array of as many doubles as the argument has numbers. */
static int is_plain(const Input *self, PyObject *given)
{
    PyArrayObject *array = (PyArrayObject *)given;
    return array == NULL ||
           (PyArray_TYPE(array) == NPY_DOUBLE && PyArray_SIZE(array) == self->size && PyArray_ISCARRAY_RO(array));
}

static int is_sound(const Input *self)
{
    if (PyErr_Occurred())
        return 0;
    if (self->wrench != NULL && (self->ndim != 2 || self->dims[1] != 6 || self->places == NULL || self->poses == NULL))
        return 0;
    if (!is_plain(self, self->neutral) || !is_plain(self, self->bounds))
        return 0;
    if (self->places != NULL && (self->wrench == NULL) == (self->neutral == NULL))
        return 0;
    return self->places == NULL || places_fit(self);
}

static PyObject *input_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"shape", "places", "neutral", "quaternions", "wrench", "entries", "poses", "bounds", NULL};
    PyObject *shape, *places = NULL, *neutral = NULL, *starts = NULL, *wrench = NULL, *entries = NULL, *poses = NULL;
    PyObject *bounds = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O!O!O!O!O!OO!", words, &PyTuple_Type, &shape, &PyDict_Type, &places,
                                     &PyArray_Type, &neutral, &PyTuple_Type, &starts, &PyType_Type, &wrench,
                                     &PyDict_Type, &entries, &poses, &PyArray_Type, &bounds))
        return NULL;
    Input *self = (Input *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->places = Py_XNewRef(places);
    self->neutral = Py_XNewRef(neutral);
    self->wrench = Py_XNewRef(wrench);
    self->entries = Py_XNewRef(entries);
    self->poses = entries == NULL ? NULL : Py_XNewRef(poses);
    self->bounds = Py_XNewRef(bounds);
    if (!read_shape(self, shape) || (starts != NULL && !read_starts(self, starts)) || !is_sound(self)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an input needs one or two sizes, and places and quaternions within them");
        Py_DECREF(self);
        return NULL;
    }
    self->room = self->size + (wrench == NULL ? 0 : 16 * self->dims[0]);
    return (PyObject *)self;
}

static int input_traverse(Input *self, visitproc visit, void *arg)
{
    Py_VISIT(self->places);
    Py_VISIT(self->neutral);
    Py_VISIT(self->wrench);
    Py_VISIT(self->entries);
    Py_VISIT(self->poses);
    Py_VISIT(self->bounds);
    return 0;
}

/* Nothing is cleared: an input in use keeps what it reads by. Cycles go through ``entries``, which Python clears. */
static void input_dealloc(Input *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->places);
    Py_XDECREF(self->neutral);
    Py_XDECREF(self->wrench);
    Py_XDECREF(self->entries);
    Py_XDECREF(self->poses);
    Py_XDECREF(self->bounds);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject InputType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Input",
    .tp_doc = "Input(shape, places, neutral, quaternions, wrench, entries, poses, bounds): how an argument of one state is "
              "read; see _entry.h.",
    .tp_basicsize = sizeof(Input),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = input_new,
    .tp_dealloc = (destructor)input_dealloc,
    .tp_traverse = (traverseproc)input_traverse,
};

int inputs_prepare(void)
{
    word_at = PyUnicode_InternFromString("at");
    word_force = PyUnicode_InternFromString("force");
    word_moment = PyUnicode_InternFromString("moment");
    word_point = PyUnicode_InternFromString("point");
    word_frame = PyUnicode_InternFromString("frame");
    return word_at == NULL || word_force == NULL || word_moment == NULL || word_point == NULL || word_frame == NULL ? -1
                                                                                                                    : 0;
}
