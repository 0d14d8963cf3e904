/* See _singular.c. */
#ifndef RECURSA_SINGULAR_H
#define RECURSA_SINGULAR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <numpy/npy_common.h>

/* Turns two rows of ``wide`` numbers until they are orthogonal in the first n; 0 where they are, or one of them is so short that
 * its square is at most ``floor``. */
int turn_two_rows(double *x, double *y, npy_intp n, npy_intp wide, double orthogonal, double floor);

PyObject *turned_rows(PyObject *module, PyObject *args);

#endif
