/* Singular values and vectors of small matrices by turning pairs of rows (Hestenes): the loops of
 * singular_value_decomposition in dynamics/manipulability.py, which says why, with the same sums in the same order. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_singular.h"
#include <math.h>
#include <string.h>

#define MAX_ROWS 8

static double product_of(const double *a, const double *b, npy_intp n)
{
    double total = n > 0 ? a[0] * b[0] : 0.0;
    for (npy_intp i = 1; i < n; i++)
        total += a[i] * b[i];
    return total;
}

int turn_two_rows(double *x, double *y, npy_intp n, npy_intp wide, double orthogonal, double floor)
{
    const double a = product_of(x, x, n), b = product_of(y, y, n), c = product_of(x, y, n);
    if (!(fabs(c) > orthogonal * sqrt(a) * sqrt(b)) || !((a < b ? a : b) > floor))
        return 0;
    const double zeta = (b - a) / (2.0 * c);
    const double tangent = (zeta < 0.0 ? -1.0 : 1.0) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
    const double cosine = 1.0 / sqrt(1.0 + tangent * tangent), sine = cosine * tangent;
    for (npy_intp j = 0; j < wide; j++) {
        const double p = x[j], r = y[j];
        x[j] = cosine * p - sine * r;
        y[j] = sine * p + cosine * r;
    }
    return 1;
}

/* One round of pairs that have nothing in common; whether any was turned. Rows have ``wide`` numbers, of which n count. */
static int turn_pairs(double *both, npy_intp m, npy_intp n, npy_intp wide, const npy_int64 *pairs, npy_intp count,
                      double orthogonal, double vanishing)
{
    double all = product_of(both, both, n);
    int turned = 0;
    for (npy_intp i = 1; i < m; i++)
        all += product_of(both + i * wide, both + i * wide, n);
    for (npy_intp k = 0; k < count; k++)
        turned |= turn_two_rows(both + pairs[2 * k] * wide, both + pairs[2 * k + 1] * wide, n, wide, orthogonal, vanishing * all);
    return turned;
}

/* turned_rows(rounds, settings (3), both (B, m, n + m)): rows of both turned, in place, until those of the first n columns are
 * orthogonal. ``rounds`` (R, 2 p) int64, pairs of rows, -1 where a round has fewer; settings: sweeps at most, the cosine that
 * counts as orthogonal, the part of all that counts as nothing. */
PyObject *turned_rows(PyObject *module, PyObject *args)
{
    PyArrayObject *rounds, *settings, *both;
    npy_intp n;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!n", &PyArray_Type, &rounds, &PyArray_Type, &settings, &PyArray_Type, &both, &n))
        return NULL;
    int sound = PyArray_TYPE(rounds) == NPY_INT64 && PyArray_ISCARRAY_RO(rounds) && PyArray_NDIM(rounds) == 2 &&
                PyArray_TYPE(settings) == NPY_DOUBLE && PyArray_ISCARRAY_RO(settings) && PyArray_SIZE(settings) == 3 &&
                PyArray_TYPE(both) == NPY_DOUBLE && PyArray_ISCARRAY(both) && PyArray_NDIM(both) == 3;
    const npy_intp m = sound ? PyArray_DIM(both, 1) : 0, wide = sound ? PyArray_DIM(both, 2) : 0;
    const npy_intp count = sound ? PyArray_DIM(rounds, 0) : 0, half = sound ? PyArray_DIM(rounds, 1) / 2 : 0;
    const npy_int64 *pairs = sound ? PyArray_DATA(rounds) : NULL;
    sound = sound && m <= MAX_ROWS && n >= 0 && n <= wide;
    for (npy_intp i = 0; sound && i < 2 * half * count; i++)
        sound = pairs[i] >= -1 && pairs[i] < m;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "turned_rows needs contiguous arrays of a few rows, and pairs of these");
        return NULL;
    }
    const double *by = PyArray_DATA(settings);
    double *at = PyArray_DATA(both);
    const npy_intp states = PyArray_DIM(both, 0);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp state = 0; state < states; state++, at += m * wide)
        for (int sweep = 0; sweep < (int)by[0]; sweep++) {
            int turned = 0;
            for (npy_intp k = 0; k < count; k++) {
                npy_intp some = 0;
                while (some < half && pairs[2 * (k * half + some)] >= 0)
                    some++;
                turned |= turn_pairs(at, m, n, wide, pairs + 2 * k * half, some, by[1], by[2]);
            }
            if (!turned)
                break;
        }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
