/* Loops of trajectories and of the timing of paths. paths/passes.py, rows.py and switches.py say what they compute and why;
 * tests/path_oracles.py has the same in NumPy. */
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

/* ---- limits as rows ---- */

/* The Bernstein coefficients of a cubic that has some values at the nodes, written every ``apart`` numbers with a sign. */
static inline void coefficients(const double *matrix, npy_intp nodes, const double *values, double sign, double plus, double *to)
{
    for (npy_intp m = 0; m < nodes; m++) {
        double sum = 0.0;
        for (npy_intp k = 0; k < nodes; k++)
            sum += matrix[m * nodes + k] * values[k];
        to[m] = sign * sum + plus;
    }
}

/* limit_rows(sizes (3), index (K), scale (K), h (N), spare (N), matrix (nodes, nodes), theta (nodes), V, W, held, pushed, moving
 * (nodes + 1, N, nv), margin (likewise, or empty), A, B, C (N, rows)): fills the last three. Sizes are the numbers of limits of
 * effort, acceleration and velocity; index and scale are the joints and the inverse limits, in that order. */
PyObject *path_limit_rows(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    void *data[16];
    npy_intp sizes[16];
    (void)module;
    if (given != 16)
        return unfit();
    if (!plain(args, "ii" "dddddddddddddd", data, sizes))
        return NULL;
    const npy_int64 *numbers = data[0], *index = data[1];
    const npy_intp limits = sizes[1], N = sizes[3], nodes = sizes[6];
    const npy_intp nv = N > 0 && nodes > 0 ? sizes[7] / ((nodes + 1) * N) : 0, all = (nodes + 1) * N * nv;
    int sound = sizes[0] == 3 && nodes > 0 && nodes <= MAX_ORDER && sizes[2] == limits && sizes[4] == N &&
                sizes[5] == nodes * nodes && (sizes[12] == all || sizes[12] == 0);
    for (int i = 7; i < 12; i++)
        sound = sound && sizes[i] == all;
    if (!sound || numbers[0] < 0 || numbers[1] < 0 || numbers[2] < 0 || numbers[0] + numbers[1] + numbers[2] != limits)
        return unfit();
    const npy_intp efforts = (npy_intp)numbers[0], both = efforts + (npy_intp)numbers[1];
    const npy_intp rows = (both + limits) * nodes;
    for (int i = 13; i < 16; i++)
        if (sizes[i] != N * rows)
            return unfit();
    for (npy_intp k = 0; k < limits; k++)
        if (index[k] < 0 || index[k] >= nv)
            return unfit();
    const double *scale = data[2], *h = data[3], *spare = data[4], *matrix = data[5], *theta = data[6];
    const double *V = data[7], *W = data[8], *held = data[9], *pushed = data[10], *moving = data[11];
    const double *margin = sizes[12] > 0 ? data[12] : NULL;
    double *A = data[13], *B = data[14], *C = data[15];
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp i = 0; i < N; i++, A += rows, B += rows, C += rows) {
        const double room = spare[i] - 1.0;
        for (npy_intp k = 0; k < limits; k++) {
            double a[MAX_ORDER], b[MAX_ORDER], c[MAX_ORDER], most = 0.0;
            for (npy_intp node = 0; node < nodes; node++) {
                const npy_intp at = (node * N + i) * nv + (npy_intp)index[k];
                if (k < efforts) { /* tau = a u + b x + c */
                    c[node] = held[at] * scale[k];
                    a[node] = (pushed[at] - held[at]) * scale[k];
                    b[node] = (moving[at] - held[at]) * scale[k];
                    if (margin != NULL)
                        most = margin[at] * scale[k] > most ? margin[at] * scale[k] : most;
                } else {
                    const double v = V[at] * scale[k];
                    c[node] = 0.0;
                    a[node] = k < both ? v : 0.0;
                    b[node] = k < both ? W[at] * scale[k] : v * v;
                }
                a[node] += b[node] * (2.0 * h[i] * theta[node]); /* x(theta) = x + 2 h theta u */
            }
            const npy_intp up = (k < both ? k : both + k) * nodes;
            coefficients(matrix, nodes, a, 1.0, 0.0, A + up);
            coefficients(matrix, nodes, b, 1.0, 0.0, B + up);
            coefficients(matrix, nodes, c, 1.0, room + most, C + up);
            if (k < both) {
                const npy_intp down = (both + k) * nodes;
                coefficients(matrix, nodes, a, -1.0, 0.0, A + down);
                coefficients(matrix, nodes, b, -1.0, 0.0, B + down);
                coefficients(matrix, nodes, c, -1.0, room + most, C + down);
            }
        }
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* ---- reachability analysis ---- */

typedef struct {
    double u, p, r; /* a bound of u at some x: its value there, p x + r, its slope and its intercept */
} Line;

typedef struct {
    const double *lines; /* (p, r) of the rows that bound u: from the front those above it, from the back those below it */
    npy_intp upper, lower, rows;
    double doubled, low, high; /* twice the length of the interval, and K at its end */
} Bounds;

typedef struct {
    double cap, no_line, rounding, epsilon;
    npy_intp steps;
} Settings;

/* The lines that bound u at x from above and from below. */
static void bounds_at(const Bounds *of, double x, Line *most, Line *least)
{
    const double slope = -1.0 / of->doubled;
    *most = (Line){(of->high - x) / of->doubled, slope, of->high / of->doubled};
    *least = (Line){(of->low - x) / of->doubled, slope, of->low / of->doubled};
    const double *line = of->lines;
    for (npy_intp k = 0; k < of->upper; k++, line += 2) {
        const double u = line[0] * x + line[1];
        if (u < most->u)
            *most = (Line){u, line[0], line[1]};
    }
    line = of->lines + 2 * (of->rows - 1);
    for (npy_intp k = 0; k < of->lower; k++, line -= 2) {
        const double u = line[0] * x + line[1];
        if (u > least->u)
            *least = (Line){u, line[0], line[1]};
    }
}

/* The first x from ``x`` towards a far end that has a u, by Newton's method; nan if there is none before that. */
static double farthest(const Bounds *of, double x, double towards, const Settings *by)
{
    const double way = towards > x ? 1.0 : -1.0;
    for (npy_intp step = 0; step < by->steps; step++) {
        Line most, least;
        bounds_at(of, x, &most, &least);
        const double rounding = by->rounding * (fabs(most.u) + fabs(least.u)) +
                                by->epsilon * fabs(x) * (fabs(most.p) + fabs(least.p));
        if (most.u - least.u >= -rounding)
            return x;
        const double slope = most.p - least.p;
        if (!(slope * way > 0.0))
            return NAN;
        x = (least.r - most.r) / slope; /* where both lines cross: from x itself the rounding of a large x would stay */
        if ((x - towards) * way > by->rounding * fabs(towards))
            return NAN;
    }
    return x;
}

/* Sorts the rows of an interval into lines that bound u, and narrows the range of x by the others; 0 if nothing is left. */
static int sort_rows(const double *A, const double *B, const double *C, Bounds *to, double *lines, double range[2],
                     const Settings *by)
{
    double least = 0.0, most = by->cap;
    to->lines = lines;
    to->upper = to->lower = 0;
    for (npy_intp r = 0; r < to->rows; r++) {
        if (fabs(A[r]) > by->no_line * to->doubled * fabs(B[r])) {
            const npy_intp at = A[r] > 0.0 ? to->upper++ : to->rows - 1 - to->lower++;
            lines[2 * at] = -B[r] / A[r];
            lines[2 * at + 1] = -C[r] / A[r];
        } else if (B[r] != 0.0) {
            const double x = -C[r] / B[r];
            if (B[r] > 0.0)
                most = x < most ? x : most;
            else
                least = x > least ? x : least;
        } else if (C[r] > 0.0) {
            return 0;
        }
    }
    range[0] = least > range[0] ? least : range[0];
    range[1] = most < range[1] ? most : range[1];
    return range[0] <= range[1];
}

/* passes(settings (5), counts (P), A, B, C (N, rows), doubled (N), bounds (N + P, 2), sets (N + P, 2), x (N + P), u (N), stuck (P),
 * lines (2 N rows), numbers (2 N)): fills those from ``sets`` on. Settings: cap, no line, rounding, epsilon, steps. */
PyObject *path_passes(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    void *data[13];
    npy_intp sizes[13];
    (void)module;
    if (given != 13)
        return unfit();
    if (!plain(args, "di" "dddddddd" "idi", data, sizes))
        return NULL;
    const npy_int64 *counts = data[1];
    const npy_intp P = sizes[1], N = sizes[5], rows = N > 0 ? sizes[2] / N : 0;
    npy_intp total = 0;
    for (npy_intp p = 0; p < P; p++)
        total += counts[p] >= 0 ? (npy_intp)counts[p] : N + 1;
    if (sizes[0] != 5 || total != N || sizes[2] != N * rows || sizes[3] != N * rows || sizes[4] != N * rows ||
        sizes[6] != 2 * (N + P) || sizes[7] != 2 * (N + P) || sizes[8] != N + P || sizes[9] != N || sizes[10] != P ||
        sizes[11] < 2 * N * rows || sizes[12] < 2 * N)
        return unfit();
    const double *setting = data[0], *A = data[2], *B = data[3], *C = data[4], *doubled = data[5], *bounds = data[6];
    const Settings by = {setting[0], setting[1], setting[2], setting[3], (npy_intp)setting[4]};
    double *sets = data[7], *x = data[8], *u = data[9], *lines = data[11];
    npy_int64 *stuck = data[10], *numbers = data[12];
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp p = 0; p < P; p++) {
        const npy_intp n = (npy_intp)counts[p];
        stuck[p] = -1;
        memcpy(sets + 2 * n, bounds + 2 * n, 2 * sizeof *sets);
        for (npy_intp i = n - 1; i >= 0 && stuck[p] < 0; i--) { /* controllable sets */
            Bounds at = {NULL, 0, 0, rows, doubled[i], sets[2 * i + 2], sets[2 * i + 3]};
            double range[2] = {bounds[2 * i], bounds[2 * i + 1]}, low = NAN, high = NAN;
            if (sort_rows(A + i * rows, B + i * rows, C + i * rows, &at, lines + 2 * i * rows, range, &by)) {
                high = farthest(&at, range[1], range[0], &by);
                low = isnan(high) ? NAN : farthest(&at, range[0], high, &by);
            }
            numbers[2 * i] = at.upper;
            numbers[2 * i + 1] = at.lower;
            if (isnan(low))
                stuck[p] = i;
            sets[2 * i] = low;
            sets[2 * i + 1] = high;
        }
        if (stuck[p] < 0)
            x[0] = sets[1];
        for (npy_intp i = 0; i < n && stuck[p] < 0; i++) { /* the fastest way */
            const Bounds at = {lines + 2 * i * rows, (npy_intp)numbers[2 * i], (npy_intp)numbers[2 * i + 1], rows, doubled[i],
                               sets[2 * i + 2], sets[2 * i + 3]};
            Line most, least;
            bounds_at(&at, x[i], &most, &least);
            /* at the end of K both are the same but for rounding; that of the steeper line, with the smaller A, is worse */
            u[i] = most.u < least.u && fabs(most.p) > fabs(least.p) ? least.u : most.u;
            const double next = x[i] + doubled[i] * u[i], above = next < at.low ? at.low : next;
            x[i + 1] = above > at.high ? at.high : above;
        }
        A += n * rows, B += n * rows, C += n * rows, lines += 2 * n * rows, numbers += 2 * n;
        doubled += n, bounds += 2 * (n + 1), sets += 2 * (n + 1), x += n + 1, u += n;
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
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
