/* What the module offers for trajectories and paths; see _paths.c. */
#ifndef RECURSA_PATHS_H
#define RECURSA_PATHS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *path_pieces(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *path_limit_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *path_passes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *path_missed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *path_switches(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
