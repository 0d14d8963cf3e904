/* See _singular.c. */
#ifndef RECURSA_SINGULAR_H
#define RECURSA_SINGULAR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *turned_rows(PyObject *module, PyObject *args);

#endif
