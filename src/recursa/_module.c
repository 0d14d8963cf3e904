/* The module: types of methods, entries and inputs, and a function for rows of small matrices. */
#include "_entry.h"
#include "_paths.h"
#include "_pseudo_inverse.h"
#include "_singular.h"

/* pseudo_inverses(factors (B, m, n), scale (m), limit, result (B, m, m), ranks (B)): all arrays contiguous; factors are overwritten. */
static PyObject *pseudo_inverses(PyObject *self, PyObject *args)
{
    PyArrayObject *factors, *scale, *result, *ranks;
    double limit;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!dO!O!", &PyArray_Type, &factors, &PyArray_Type, &scale, &limit, &PyArray_Type,
                          &result, &PyArray_Type, &ranks))
        return NULL;
    const npy_intp m = PyArray_SIZE(scale), count = PyArray_SIZE(ranks);
    int sound = m <= MAX_SMALL && PyArray_NDIM(factors) == 3 && PyArray_DIM(factors, 0) == count &&
                PyArray_DIM(factors, 1) == m && PyArray_SIZE(result) == count * m * m && PyArray_TYPE(ranks) == NPY_INT64;
    PyArrayObject *const doubles[] = {factors, scale, result};
    for (int i = 0; i < 3; i++)
        sound = sound && PyArray_TYPE(doubles[i]) == NPY_DOUBLE && PyArray_ISCARRAY_RO(doubles[i]);
    if (!sound || !PyArray_ISCARRAY(factors) || !PyArray_ISCARRAY(result) || !PyArray_ISCARRAY(ranks)) {
        PyErr_SetString(PyExc_ValueError, "pseudo_inverses needs contiguous arrays of small matrices, scales and ranks");
        return NULL;
    }
    const npy_intp n = PyArray_DIM(factors, 2);
    const double *scales = PyArray_DATA(scale);
    double *from = PyArray_DATA(factors), *to = PyArray_DATA(result);
    npy_int64 *rank = PyArray_DATA(ranks);
    for (npy_intp i = 0; i < count; i++)
        rank[i] = small_pseudo_inverse((int)m, n, from + i * m * n, scales, limit, to + i * m * m);
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

#define PATH(function) (PyCFunction)(void (*)(void))function

static PyMethodDef functions[] = {{"pseudo_inverses", pseudo_inverses, METH_VARARGS, "Of small matrices."},
                                  {"run", blocks_of_python, METH_VARARGS, "Blocks of states through compiled code."},
                                  {"empty", empty_array, METH_VARARGS, "An array whose memory is kept when it is freed."},
                                  {"kept_bytes", kept_bytes, METH_NOARGS, "Bytes that are kept for results to come."},
                                  {"choose", choose, METH_O, "How things are compiled from now on, as a number."},
                                  {"turned_rows", turned_rows, METH_VARARGS, "Rows of small matrices made orthogonal."},
                                  {"pieces", PATH(path_pieces), METH_FASTCALL, "Polynomials between joins."},
                                  {"limit_rows", PATH(path_limit_rows), METH_FASTCALL, "Limits along paths as rows."},
                                  {"passes", PATH(path_passes), METH_FASTCALL, "Controllable sets and the fastest way."},
                                  {"missed", PATH(path_missed), METH_FASTCALL, "What cubics miss of limits."},
                                  {"switches", PATH(path_switches), METH_FASTCALL, "A motion with switches inside intervals."},
                                  {"xla_handler", xla_handler, METH_O, "Kernels as foreign functions of XLA."},
                                  {NULL, NULL, 0, NULL}};
/* Types, names and the setting are static, and entries guard their scratch by the interpreter's lock: one interpreter, which
 * has its lock. In others, and without the extension altogether, everything takes the general way. */
static int prepare(PyObject *m)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* before Python 3.12 only this says so */
        PyErr_SetString(PyExc_ImportError, "recursa._entry can be loaded by the main interpreter only");
        return -1;
    }
    import_array1(-1);
    if (memory_prepare() < 0 || entries_prepare() < 0 || inputs_prepare() < 0 || methods_prepare() < 0 ||
        PyModule_AddIntMacro(m, MAX_SMALL) < 0 || PyModule_AddIntMacro(m, MAX_INPUTS) < 0 ||
        PyModule_AddIntMacro(m, MAX_QUATERNIONS) < 0)
        return -1;
    if (PyModule_AddType(m, &EntryType) < 0 || PyModule_AddType(m, &InputType) < 0 || PyModule_AddType(m, &SearchType) < 0)
        return -1;
    return PyModule_AddType(m, &MethodType);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_entry",
    .m_doc = "Thin entry into compiled kernels.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__entry(void)
{
    return PyModuleDef_Init(&module);
}
