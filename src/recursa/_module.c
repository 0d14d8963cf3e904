/* The module: types of methods, entries and inputs, and a function for rows of small matrices. */
#include "_entry.h"
#include "_pseudo_inverse.h"

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

/* choose(setting): a number for how things are compiled from now on. */
static PyObject *choose(PyObject *self, PyObject *number)
{
    (void)self;
    long setting = PyLong_AsLong(number);
    if (setting == -1 && PyErr_Occurred())
        return NULL;
    current_setting = (int)setting;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"pseudo_inverses", pseudo_inverses, METH_VARARGS, "Of small matrices."},
                                  {"run", blocks_of_python, METH_VARARGS, "Blocks of states through compiled code."},
                                  {"choose", choose, METH_O, "How things are compiled from now on, as a number."},
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
    if (entries_prepare() < 0 || inputs_prepare() < 0 || methods_prepare() < 0)
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
