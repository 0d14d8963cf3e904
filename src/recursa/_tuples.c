/* Named tuples, made without the Python function that collections.namedtuple writes for it: a robot is thousands of them.
 *
 * quick(cls) sets the place where Python looks for the fast way to call a class. It is taken where the fields are given
 * in their order, each once; every other call goes the usual way, with its errors. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *made(PyObject *cls, PyObject *const *given, size_t flags, PyObject *names, Py_ssize_t fields)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count != fields || names != NULL) {
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

static PyMethodDef functions[] = {{"quick", quick, METH_O, "Make a class of named tuples quick to call."},
                                  {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_tuples", "Named tuples that are quickly made.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__tuples(void)
{
    return PyModule_Create(&module);
}
