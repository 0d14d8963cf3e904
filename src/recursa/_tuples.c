/* Named tuples and frozen records with slots, made without the Python functions that collections.namedtuple and
 * dataclasses write for that: a robot is thousands of them.
 *
 * quick(cls) and quick_record(cls, defaults) set the place where Python looks for the fast way to call a class. Every
 * call that is not plain goes the usual way, with its errors. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

extern PyMethodDef constant_functions[]; /* _constants.c */

static PyObject *usual(PyObject *cls, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    PyObject *args = PyTuple_New(count), *words = NULL;
    for (Py_ssize_t k = 0; args != NULL && k < count; k++)
        PyTuple_SET_ITEM(args, k, Py_NewRef(given[k]));
    if (args != NULL && names != NULL && (words = PyDict_New()) == NULL)
        Py_CLEAR(args);
    for (Py_ssize_t k = 0; args != NULL && names != NULL && k < PyTuple_GET_SIZE(names); k++)
        if (PyDict_SetItem(words, PyTuple_GET_ITEM(names, k), given[count + k]) < 0)
            Py_CLEAR(args);
    PyObject *result = args == NULL ? NULL : PyType_Type.tp_call(cls, args, words);
    Py_XDECREF(args);
    Py_XDECREF(words);
    return result;
}

/* ---- named tuples: the fields are given in their order, each once ------------------------------------------------- */

static PyObject *made(PyObject *cls, PyObject *const *given, size_t flags, PyObject *names, Py_ssize_t fields)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count != fields || names != NULL)
        return usual(cls, given, count, names);
    PyTypeObject *type = (PyTypeObject *)cls;
    PyObject *tuple = type->tp_alloc(type, fields);
    for (Py_ssize_t k = 0; tuple != NULL && k < fields; k++)
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(given[k]));
    return tuple;
}

#define OF(fields)                                                                                                     \
    static PyObject *of_##fields(PyObject *cls, PyObject *const *given, size_t flags, PyObject *names)                 \
    {                                                                                                                  \
        return made(cls, given, flags, names, fields);                                                                 \
    }
OF(2)
OF(3)
OF(4)
OF(5)
OF(6)
OF(9)
#undef OF

static const vectorcallfunc by_fields[] = {NULL, NULL, of_2, of_3, of_4, of_5, of_6, NULL, NULL, of_9};

static PyObject *quick(PyObject *module, PyObject *cls)
{
    (void)module;
    if (!PyType_Check(cls) || Py_TYPE(cls) != &PyType_Type || ((PyTypeObject *)cls)->tp_base != &PyTuple_Type ||
        ((PyTypeObject *)cls)->tp_basicsize != PyTuple_Type.tp_basicsize) {
        PyErr_SetString(PyExc_TypeError, "expected a class that collections.namedtuple made");
        return NULL;
    }
    PyObject *fields = PyObject_GetAttrString(cls, "_fields");
    Py_ssize_t count = fields == NULL ? -1 : PyObject_Size(fields);
    Py_XDECREF(fields);
    if (count < 0)
        return NULL;
    if ((size_t)count < sizeof(by_fields) / sizeof(*by_fields))
        ((PyTypeObject *)cls)->tp_vectorcall = by_fields[count];
    Py_RETURN_NONE;
}

/* ---- records: fields in their order, then some by name; the others have defaults ---------------------------------- */

typedef struct {
    PyTypeObject *type;
    PyObject *names, *defaults; /* tuples; the defaults are those of the last fields */
    Py_ssize_t *offsets;        /* of the slots */
} Record;

static Record *records; /* all classes that were made quick: a handful, for good */
static size_t known;

static const Record *record_of(PyObject *cls)
{
    for (size_t k = 0; k < known; k++)
        if ((PyObject *)records[k].type == cls)
            return &records[k];
    return NULL;
}

static PyObject **slot(PyObject *self, const Record *of, Py_ssize_t field)
{
    return (PyObject **)((char *)self + of->offsets[field]);
}

static int set_by_name(PyObject *self, const Record *of, PyObject *name, PyObject *value)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(of->names); k++)
        if (PyTuple_GET_ITEM(of->names, k) == name) { /* both are interned, or the usual way finds it */
            PyObject **place = slot(self, of, k);
            if (*place != NULL)
                return -1;
            *place = Py_NewRef(value);
            return 0;
        }
    return -1;
}

static PyObject *record_made(PyObject *cls, PyObject *const *given, size_t flags, PyObject *names)
{
    const Record *of = record_of(cls);
    Py_ssize_t count = PyVectorcall_NARGS(flags), fields = of == NULL ? 0 : PyTuple_GET_SIZE(of->names);
    if (of == NULL || count > fields)
        return usual(cls, given, count, names);
    PyObject *self = of->type->tp_alloc(of->type, 0);
    if (self == NULL)
        return NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        *slot(self, of, k) = Py_NewRef(given[k]);
    int plain = 1;
    for (Py_ssize_t k = 0; plain && names != NULL && k < PyTuple_GET_SIZE(names); k++)
        plain = set_by_name(self, of, PyTuple_GET_ITEM(names, k), given[count + k]) == 0;
    Py_ssize_t required = fields - PyTuple_GET_SIZE(of->defaults);
    for (Py_ssize_t k = count; plain && k < fields; k++) {
        PyObject **place = slot(self, of, k);
        if (*place == NULL && k >= required)
            *place = Py_NewRef(PyTuple_GET_ITEM(of->defaults, k - required));
        plain = *place != NULL;
    }
    if (plain)
        return self;
    Py_DECREF(self);
    return usual(cls, given, count, names);
}

static int find_slots(Record *new)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(new->names); k++) {
        PyObject *member = PyObject_GetAttr((PyObject *)new->type, PyTuple_GET_ITEM(new->names, k));
        int fine = member != NULL && Py_TYPE(member) == &PyMemberDescr_Type &&
                   ((PyMemberDescrObject *)member)->d_member->type == T_OBJECT_EX;
        if (fine)
            new->offsets[k] = ((PyMemberDescrObject *)member)->d_member->offset;
        Py_XDECREF(member); /* the class has it */
        if (!fine) {
            PyErr_SetString(PyExc_TypeError, "expected a class whose fields are slots");
            return -1;
        }
    }
    return 0;
}

static PyObject *quick_record(PyObject *module, PyObject *args)
{
    Record new = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &new.type, &PyTuple_Type, &new.names, &PyTuple_Type,
                          &new.defaults))
        return NULL;
    Py_ssize_t fields = PyTuple_GET_SIZE(new.names);
    if (Py_TYPE(new.type) != &PyType_Type || !PyType_HasFeature(new.type, Py_TPFLAGS_HEAPTYPE) || new.type->tp_base != &PyBaseObject_Type || fields == 0 ||
        PyTuple_GET_SIZE(new.defaults) > fields || record_of((PyObject *)new.type) != NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a class whose fields are slots");
        return NULL;
    }
    Record *more = PyMem_Realloc(records, (known + 1) * sizeof(Record));
    if (more != NULL)
        records = more;
    new.offsets = more == NULL ? NULL : PyMem_Calloc((size_t)fields, sizeof(Py_ssize_t));
    if (new.offsets == NULL)
        return PyErr_NoMemory();
    if (find_slots(&new) < 0) {
        PyMem_Free(new.offsets);
        return NULL;
    }
    Py_INCREF(new.type);
    Py_INCREF(new.names);
    Py_INCREF(new.defaults);
    records[known++] = new;
    new.type->tp_vectorcall = record_made;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"quick", quick, METH_O, "Make a class of named tuples quick to call."},
                                  {"quick_record", quick_record, METH_VARARGS,
                                   "Make a class of records quick to call: its fields, which are slots, and the"
                                   " defaults of the last of them."},
                                  {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_tuples", "Named tuples that are quickly made.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__tuples(void)
{
    PyObject *m = PyModule_Create(&module);
    if (m != NULL && PyModule_AddFunctions(m, constant_functions) < 0)
        Py_CLEAR(m);
    return m;
}
