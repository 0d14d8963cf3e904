/* A Method stands in a class in place of a Python function. It looks up how it is called (which options, in which
 * spelling) among the calls its object has learned; where there is an entry that does not decline, the function never
 * runs. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <stddef.h>
#include <structmember.h>

#define MAX_ARGUMENTS 16

int current_setting = 0;
static PyObject *name_calls; /* "_calls" */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* the general way */
    PyObject *name;
    PyObject *learn;
    PyObject *dict;
    unsigned int version; /* 0, or of a class whose objects have their calls at ``offset`` */
    Py_ssize_t offset;
} Method;

/* A call taken apart. */
typedef struct {
    PyObject *inputs[MAX_INPUTS];
    Py_ssize_t count; /* of inputs */
    PyObject *out;    /* or NULL */
    long threads;
    Py_ssize_t place; /* of threads among the arguments, or -1 */
    int bare;         /* nothing but inputs by position, and perhaps out and threads */
} Parts;

/* Whether an object is a tuple of texts, at least one: names of joints or links. */
static int is_names(PyObject *object)
{
    if (!PyTuple_CheckExact(object))
        return 0;
    Py_ssize_t size = PyTuple_GET_SIZE(object), at = 0;
    while (at < size && PyUnicode_CheckExact(PyTuple_GET_ITEM(object, at)))
        at++;
    return size > 0 && at == size;
}

static int is_option(PyObject *object)
{
    return PyUnicode_CheckExact(object) || object == Py_None || PyBool_Check(object) || is_names(object);
}

/* Whether an object may hold the numbers of an input; a single number is no part of a state. */
static int is_input(PyObject *object)
{
    return PyArray_CheckExact(object) || (!is_option(object) && !PyFloat_Check(object) && !PyLong_Check(object));
}

/* Whether a call consists of inputs and options only. ``args`` are those after self. */
static int take_apart(PyObject *const *args, Py_ssize_t count, PyObject *names, Parts *parts)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count + named > MAX_ARGUMENTS)
        return 0;
    parts->count = 0;
    parts->out = NULL;
    parts->threads = 1;
    parts->place = -1;
    parts->bare = 1;
    for (Py_ssize_t i = 0; i < count + named; i++) {
        PyObject *one = args[i];
        if (i >= count && is_out(PyTuple_GET_ITEM(names, i - count))) {
            if (!PyArray_CheckExact(one) && one != Py_None)
                return 0;
            parts->out = one == Py_None ? NULL : one;
        } else if (i >= count && is_threads(PyTuple_GET_ITEM(names, i - count))) {
            parts->threads = threads_of(one);
            parts->place = i;
            if (parts->threads == 0)
                return 0;
        } else if (is_input(one)) {
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

/* How a method is called: its name alone, or (name, *positional, names of keywords, *theirs), an ellipsis per input. */
static PyObject *spelling(const Method *self, PyObject *const *args, Py_ssize_t count, PyObject *names, const Parts *parts)
{
    if (parts->bare)
        return Py_NewRef(self->name);
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names), at = 0;
    PyObject *key = PyTuple_New(1 + count + (named > 0 ? 1 + named : 0));
    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, at++, Py_NewRef(self->name));
    for (Py_ssize_t i = 0; i < count + named; i++) {
        if (i == count)
            PyTuple_SET_ITEM(key, at++, Py_NewRef(names));
        PyTuple_SET_ITEM(key, at++, Py_NewRef(i == parts->place ? Py_None : is_input(args[i]) ? Py_Ellipsis : args[i]));
    }
    return key;
}

/* The entry that a call in this spelling has, or NULL; borrowed. One of another setting is none. */
static Entry *learned(PyObject *calls, PyObject *key)
{
    PyObject *found = PyDict_GetItemWithError(calls, key);
    int usable = found != NULL && Py_TYPE(found) == &EntryType && ((Entry *)found)->setting == current_setting;
    return usable ? (Entry *)found : NULL;
}

/* Has a call in this spelling looked at by Python, which may put an entry there; -1 with an exception. */
static int learn(Method *self, PyObject *object, PyObject *key)
{
    PyObject *done = PyObject_CallFunctionObjArgs(self->learn, object, key, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Remembers where objects of a class have their calls, if that is a slot; -1 with an exception. */
static int find_slot(Method *self, PyTypeObject *type)
{
    PyObject *found = PyObject_GetAttr((PyObject *)type, name_calls);
    if (found == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    if (found != NULL && Py_TYPE(found) == &PyMemberDescr_Type && PyType_IsSubtype(type, PyDescr_TYPE(found))) {
        const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        self->version = member->type == T_OBJECT_EX ? type->tp_version_tag : 0;
        self->offset = member->offset;
    }
    Py_XDECREF(found);
    return 0;
}

/* The calls that an object has learned, a new reference. NULL if it does not learn; with an exception if asking failed. */
static PyObject *calls_of(Method *self, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *calls;
    if (self->version != 0 && self->version == type->tp_version_tag) /* no other class ever has this number */
        calls = Py_XNewRef(*(PyObject **)((char *)object + self->offset));
    else {
        calls = PyObject_GetAttr(object, name_calls);
        if (calls == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
        else if (calls != NULL && find_slot(self, type) < 0)
            Py_CLEAR(calls);
    }
    if (calls != NULL && !PyDict_CheckExact(calls))
        Py_CLEAR(calls);
    return calls;
}

static PyObject *method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Method *self = (Method *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Parts parts;
    if (count < 1 || !take_apart(args + 1, count - 1, names, &parts))
        return PyObject_Vectorcall(self->function, args, nargsf, names);
    PyObject *calls = calls_of(self, args[0]);
    if (calls == NULL)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(self->function, args, nargsf, names);
    PyObject *result = NULL, *key = spelling(self, args + 1, count - 1, names, &parts);
    Entry *entry = key == NULL ? NULL : learned(calls, key);
    Py_XINCREF(entry);
    if (entry != NULL)
        result = any_answer(entry, parts.inputs, parts.count, parts.out, parts.threads);
    else if (!PyErr_Occurred())
        result = Py_NewRef(Py_NotImplemented);
    if (result == Py_NotImplemented) {
        Py_DECREF(result);
        result = PyObject_Vectorcall(self->function, args, nargsf, names);
        int learns = entry != NULL ? entry->lacking : PyDict_GetItemWithError(calls, key) != Py_None;
        if (result != NULL && learns && learn(self, args[0], key) < 0)
            Py_CLEAR(result);
    }
    Py_XDECREF((PyObject *)entry);
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

PyTypeObject MethodType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Method",
    .tp_doc = "Method(function, name, learn): the function, or an entry that object._calls holds for this spelling of "
              "a call. After a call in a spelling that is not there, learn(object, spelling) may put one there, or None "
              "where there will never be one.",
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

int methods_prepare(void)
{
    name_calls = PyUnicode_InternFromString("_calls");
    return name_calls == NULL ? -1 : 0;
}
