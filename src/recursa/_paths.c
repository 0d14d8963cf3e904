/* Loops of trajectories and of the timing of paths that NumPy would make many arrays for. The clear forms, which say why, are
 * Pieces in trajectories/curves.py, missed in paths/rows.py and switched in paths/switches.py; sums are in the same order. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_paths.h"
#include <math.h>
#include <string.h>

#define MAX_ORDER 16

/* The data of arrays that are plain and have the types that ``kinds`` says, a letter each: d, i. */
static int plain(PyObject *const *given, const char *kinds, void **data, npy_intp *sizes)
{
    for (Py_ssize_t i = 0; kinds[i] != '\0'; i++) {
        PyArrayObject *array = (PyArrayObject *)given[i];
        int type = kinds[i] == 'i' ? NPY_INT64 : NPY_DOUBLE;
        if (!PyArray_Check(given[i]) || PyArray_TYPE(array) != type || !PyArray_ISCARRAY_RO(array)) {
            PyErr_Format(PyExc_ValueError, "argument %zd is no contiguous array of the type that is needed", i);
            return 0;
        }
        data[i] = PyArray_DATA(array);
        sizes[i] = PyArray_SIZE(array);
    }
    return 1;
}

static PyObject *unfit(void)
{
    PyErr_SetString(PyExc_ValueError, "sizes of the arrays do not fit together");
    return NULL;
}

/* ---- polynomials between joins ---- */

#define LANES 4

/* The polynomials of a few neighbouring coordinates at u, whose coefficients are so far apart; they stay in registers. */
static inline void some_of_piece(const double *restrict c, npy_intp order, npy_intp apart, double u, double inverse,
                                 double *restrict x, double *restrict dx, double *restrict ddx, const int lanes)
{
    double at[LANES], rate[LANES] = {0.0}, bend[LANES] = {0.0};
    for (int j = 0; j < lanes; j++)
        at[j] = c[(order - 1) * apart + j];
    for (npy_intp k = order - 2; k >= 0; k--)
        for (int j = 0; j < lanes; j++) {
            bend[j] = bend[j] * u + 2.0 * rate[j];
            rate[j] = rate[j] * u + at[j];
            at[j] = at[j] * u + c[k * apart + j];
        }
    for (int j = 0; j < lanes; j++) {
        x[j] = at[j];
        dx[j] = rate[j] * inverse;
        ddx[j] = bend[j] * inverse * inverse;
    }
}

/* pieces(breaks (m + 1), coefficients (order, m, n), t (N), x, dx, ddx (N, n)): fills the last three by Horner's rule. */
PyObject *path_pieces(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    void *data[6];
    npy_intp sizes[6];
    (void)module;
    if (count != 6)
        return unfit();
    if (!plain(args, "dddddd", data, sizes))
        return NULL;
    const npy_intp m = sizes[0] - 1, N = sizes[2];
    const npy_intp n = N > 0 ? sizes[3] / N : 0;
    const npy_intp order = m > 0 && n > 0 ? sizes[1] / (m * n) : 0;
    if (m < 1 || sizes[3] != N * n || sizes[4] != N * n || sizes[5] != N * n || (n > 0 && sizes[1] != order * m * n) ||
        (n > 0 && order < 1))
        return unfit();
    const double *breaks = data[0], *c = data[1], *t = data[2];
    double *x = data[3], *dx = data[4], *ddx = data[5];
    Py_BEGIN_ALLOW_THREADS
    npy_intp piece = 0;
    for (npy_intp i = 0; i < N; i++, x += n, dx += n, ddx += n) {
        if (!(breaks[piece] <= t[i]) || (piece + 1 < m && breaks[piece + 1] <= t[i])) {
            npy_intp low = 0, high = m; /* the last join that is not after t, but for the end */
            while (high - low > 1) {
                npy_intp middle = (low + high) / 2;
                if (breaks[middle] <= t[i])
                    low = middle;
                else
                    high = middle;
            }
            piece = low;
        }
        const double width = breaks[piece + 1] - breaks[piece], inverse = 1.0 / width, u = (t[i] - breaks[piece]) / width;
        const double *here = c + piece * n;
        npy_intp j = 0;
        for (; j + LANES <= n; j += LANES)
            some_of_piece(here + j, order, m * n, u, inverse, x + j, dx + j, ddx + j, LANES);
        for (; j < n; j++)
            some_of_piece(here + j, order, m * n, u, inverse, x + j, dx + j, ddx + j, 1);
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* beyond(q (N, n), low (n), high (n)): by how much the rows are outside at most; -inf if there are none. */
PyObject *path_beyond(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    void *data[3];
    npy_intp sizes[3];
    (void)module;
    if (count != 3)
        return unfit();
    if (!plain(args, "ddd", data, sizes))
        return NULL;
    const npy_intp n = sizes[1], N = n > 0 ? sizes[0] / n : 0;
    if (sizes[2] != n || sizes[0] != N * n)
        return unfit();
    const double *q = data[0], *low = data[1], *high = data[2];
    double most = -INFINITY;
    for (npy_intp i = 0; i < N; i++, q += n)
        for (npy_intp j = 0; j < n; j++) {
            double under = low[j] - q[j], over = q[j] - high[j];
            under = under > over ? under : over;
            most = under > most ? under : most;
        }
    return PyFloat_FromDouble(most);
}

/* ---- what cubics miss ---- */

/* missed(counts (P), x (N + P), h (N), nodes (2, NODES), limits (3, nv), V, W, held, pushed, moving (NODES + 1, N, nv), off (P)):
 * fills the last; nodes are theta and the weights of the middle, limits those of velocity, acceleration, effort. */
PyObject *path_missed(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    void *data[11];
    npy_intp sizes[11];
    (void)module;
    if (given != 11)
        return unfit();
    if (!plain(args, "idddddddddd", data, sizes))
        return NULL;
    const npy_intp P = sizes[0], N = sizes[2], nodes = sizes[3] / 2, nv = sizes[4] / 3, all = (nodes + 1) * N * nv;
    const npy_int64 *counts = data[0];
    npy_intp total = 0;
    for (npy_intp p = 0; p < P; p++)
        total += counts[p] >= 0 ? (npy_intp)counts[p] : N + 1;
    if (total != N || sizes[1] != N + P || nodes > MAX_ORDER || sizes[10] != P)
        return unfit();
    for (int i = 5; i < 10; i++)
        if (sizes[i] != all)
            return unfit();
    const double *x = data[1], *h = data[2], *theta = data[3], *weight = theta + nodes, *limits = data[4];
    const double *V = data[5], *W = data[6], *held = data[7], *pushed = data[8], *moving = data[9];
    double *off = data[10];
    Py_BEGIN_ALLOW_THREADS
    npy_intp i = 0;
    for (npy_intp p = 0; p < P; p++, x++) {
        double most = 0.0;
        for (npy_intp end = i + (npy_intp)counts[p]; i < end; i++, x++) {
            const double dx = x[1] - x[0], u = dx / (2.0 * h[i]), middle = 0.5 * (x[0] + x[1]);
            double by_u[MAX_ORDER + 1], by_x[MAX_ORDER + 1], rest[MAX_ORDER + 1];
            for (npy_intp k = 0; k < nodes; k++) {
                by_u[k] = weight[k] * u;
                by_x[k] = weight[k] * (x[0] + theta[k] * dx);
                rest[k] = weight[k] - by_u[k] - by_x[k];
            }
            by_u[nodes] = -u;
            by_x[nodes] = -middle;
            rest[nodes] = -(1.0 - u - middle);
            for (npy_intp j = 0; j < nv; j++) {
                double square = 0.0, faster = 0.0, torque = 0.0;
                for (npy_intp k = 0; k <= nodes; k++) {
                    const npy_intp at = (k * N + i) * nv + j;
                    square += by_x[k] * (V[at] * V[at]);
                    faster += by_u[k] * V[at] + by_x[k] * W[at];
                    torque += rest[k] * held[at] + by_u[k] * pushed[at] + by_x[k] * moving[at];
                }
                const double parts[] = {fabs(square) / (limits[j] * limits[j]), fabs(faster) / limits[nv + j],
                                        fabs(torque) / limits[2 * nv + j]};
                for (int k = 0; k < 3; k++)
                    most = parts[k] > most ? parts[k] : most; /* 0 where there is no limit */
            }
        }
        off[p] = most;
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* ---- switches inside intervals ---- */

typedef struct {
    const double *A, *B, *C;
    double doubled, no_line;
} Interval;

/* The largest u at x that the first so many rows allow; ``backwards`` at the end of the interval, as the least u there. */
static double most_of(const Interval *of, double x, npy_intp rows, int backwards)
{
    double most = INFINITY;
    for (npy_intp r = 0; r < rows; r++) {
        const double A = backwards ? -(of->A[r] - of->doubled * of->B[r]) : of->A[r];
        if (of->no_line * of->doubled * fabs(of->B[r]) < A) {
            const double u = -(of->B[r] * x + of->C[r]) / A;
            most = u < most ? u : most;
        }
    }
    return backwards ? -most : most;
}

/* switches(settings (5), counts (P), grid (N + P), doubled (N), A, B, C (N, rows), sets (N + P, 2), x (N + P), u (N), places,
 * squares, intervals, times, speeds, slopes (2 N + P each), found (P)): fills those from ``places`` on; ``found`` are the
 * numbers of pieces. Settings: rows that are not of velocity, kink, near, no line, edge. */
PyObject *path_switches(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    void *data[17];
    npy_intp sizes[17];
    (void)module;
    if (given != 17)
        return unfit();
    if (!plain(args, "didddddddd" "ddiddd" "i", data, sizes))
        return NULL;
    const double *settings = data[0];
    const npy_int64 *counts = data[1];
    const npy_intp P = sizes[1], N = sizes[3], wide = N > 0 ? sizes[4] / N : 0;
    npy_intp total = 0;
    for (npy_intp p = 0; p < P; p++)
        total += counts[p] >= 1 ? (npy_intp)counts[p] : N + 1;
    int sound = sizes[0] == 5 && total == N && sizes[2] == N + P && sizes[7] == 2 * (N + P) && sizes[8] == N + P &&
                sizes[9] == N && sizes[16] == P && settings[0] >= 0.0 && settings[0] <= (double)wide;
    for (int i = 4; i < 7; i++)
        sound = sound && sizes[i] == N * wide;
    for (int i = 10; i < 16; i++)
        sound = sound && sizes[i] >= 2 * N + P;
    if (!sound)
        return unfit();
    const npy_intp others = (npy_intp)settings[0];
    const double kink = settings[1], near = settings[2], edge = settings[4];
    const double *grid = data[2], *doubled = data[3], *sets = data[7], *x = data[8], *u = data[9];
    double *places = data[10], *squares = data[11], *times = data[13], *speeds = data[14], *slopes = data[15];
    npy_int64 *intervals = data[12], *found = data[16];
    Py_BEGIN_ALLOW_THREADS
    Interval at = {data[4], data[5], data[6], 0.0, settings[3]};
    for (npy_intp p = 0; p < P; p++) {
        const npy_intp n = (npy_intp)counts[p];
        double largest = 0.0;
        npy_intp pieces = 0;
        for (npy_intp i = 0; i < n; i++)
            largest = fabs(u[i]) > largest ? fabs(u[i]) : largest;
        for (npy_intp i = 0; i < n; i++, at.A += wide, at.B += wide, at.C += wide) {
            const double start = x[i], end = x[i + 1], top = sets[2 * i + 1], before = u[i > 0 ? i - 1 : 0];
            const double d = at.doubled = doubled[i];
            places[pieces] = grid[i];
            squares[pieces] = start;
            intervals[pieces++] = i;
            if (!(before - u[i + 1 < n ? i + 1 : i] > kink * largest) || !(end >= sets[2 * i + 3] - edge * (start + end)))
                continue;
            const double back = (end - top) / d;
            int rising = start < top - edge * (start + top);
            for (npy_intp r = 0; r < wide && rising; r++)
                rising = at.A[r] * back + at.B[r] * top + at.C[r] <= edge;
            const double first = most_of(&at, start, rising ? others : wide, 0);
            const double second = rising ? back : most_of(&at, end, others, 1);
            const double part = (end - start - d * second) / (first - second) / d;
            if (!isfinite(first) || !isfinite(second) || !(first > second) || !(part > near) || !(part < 1.0 - near))
                continue;
            places[pieces] = grid[i] + part * (grid[i + 1] - grid[i]);
            squares[pieces] = start + d * part * first;
            intervals[pieces++] = i;
        }
        places[pieces] = grid[n];
        squares[pieces] = x[n];
        times[0] = 0.0;
        for (npy_intp i = 0; i <= pieces; i++)
            speeds[i] = sqrt(squares[i]);
        for (npy_intp i = 0; i < pieces; i++) {
            const double h = places[i + 1] - places[i];
            slopes[i] = (squares[i + 1] - squares[i]) / (2.0 * h);
            times[i + 1] = times[i] + 2.0 * h / (speeds[i] + speeds[i + 1]);
        }
        found[p] = pieces;
        grid += n + 1, sets += 2 * (n + 1), x += n + 1, u += n, doubled += n;
        places += pieces + 1, squares += pieces + 1, intervals += pieces + 1, times += pieces + 1;
        speeds += pieces + 1, slopes += pieces + 1;
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* ---- compiled functions of arrays ---- */

/* call(address, count, arrays ...): ``void f(i64 count, ptr ...)`` with the data of 11 or 13 arrays. What they have to be is for
 * the caller to know: this is as trusting as ctypes. */
PyObject *path_call(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    void *a[13];
    (void)module;
    const Py_ssize_t arrays = given - 2;
    if (arrays != 11 && arrays != 13)
        return unfit();
    void *function = PyLong_AsVoidPtr(args[0]);
    const int64_t count = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred())
        return NULL;
    for (Py_ssize_t i = 0; i < arrays; i++) {
        PyArrayObject *array = (PyArrayObject *)args[i + 2];
        if (!PyArray_Check(args[i + 2]) || !PyArray_ISCARRAY_RO(array)) {
            PyErr_Format(PyExc_ValueError, "argument %zd is no contiguous array", i + 2);
            return NULL;
        }
        a[i] = PyArray_DATA(array);
    }
    Py_BEGIN_ALLOW_THREADS
    if (arrays == 11) {
        void (*f)(int64_t, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);
        memcpy(&f, &function, sizeof f);
        f(count, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
    } else {
        void (*f)(int64_t, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                  void *);
        memcpy(&f, &function, sizeof f);
        f(count, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
