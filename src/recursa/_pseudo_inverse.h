#ifndef RECURSA_PSEUDO_INVERSE_H
#define RECURSA_PSEUDO_INVERSE_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/npy_common.h>

#define MAX_SMALL 24 /* rows */

/* The pseudo-inverse of B B* (m, m) from its factor B (m, n), which is overwritten, and its rank; see pseudo_inverse.py. */
int small_pseudo_inverse(int m, npy_intp n, double *factor, const double *scale, double limit, double *result);

#endif
