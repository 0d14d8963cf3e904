/* A step of inverse kinematics for robots and goals that are too large to be spelled out: the algebra of reach/levels.py with
 * loops, in all lanes at once. What has a comment with a name in quotes is that function there, operation by operation. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_levels.h"
#include <math.h>
#include <string.h>

#define LANES for (npy_intp l = 0; l < width; l++)
#define AT(x, i) ((x) + (i)*width)

/* "_dot" of two rows, into every lane of ``out``. */
static inline void dot(npy_intp width, npy_intp n, const double *a, const double *b, double *restrict out)
{
    LANES out[l] = 0.0;
    for (npy_intp i = 0; i < n; i++)
        LANES out[l] += AT(a, i)[l] * AT(b, i)[l];
}

/* "_solution": x = inv(A) x for the lower half of A, which is overwritten; ``scaled`` is another one of its size. */
static void solve(npy_intp width, npy_intp n, double *lower, double *scaled, double *inverse, double *x)
{
    for (npy_intp j = 0; j < n; j++) {
        double *pivot = AT(lower, j * n + j);
        for (npy_intp k = 0; k < j; k++)
            LANES pivot[l] -= AT(scaled, j * n + k)[l] * AT(lower, j * n + k)[l];
        LANES AT(inverse, j)[l] = 1.0 / pivot[l];
        for (npy_intp i = j + 1; i < n; i++) {
            double *entry = AT(scaled, i * n + j);
            memcpy(entry, AT(lower, i * n + j), (size_t)width * sizeof(double));
            for (npy_intp k = 0; k < j; k++)
                LANES entry[l] -= AT(scaled, i * n + k)[l] * AT(lower, j * n + k)[l];
            LANES AT(lower, i * n + j)[l] = entry[l] * AT(inverse, j)[l];
        }
    }
    for (npy_intp i = 0; i < n; i++)
        for (npy_intp k = 0; k < i; k++)
            LANES AT(x, i)[l] -= AT(lower, i * n + k)[l] * AT(x, k)[l];
    for (npy_intp i = n - 1; i >= 0; i--) {
        LANES AT(x, i)[l] *= AT(inverse, i)[l];
        for (npy_intp k = i + 1; k < n; k++)
            LANES AT(x, i)[l] -= AT(lower, k * n + i)[l] * AT(x, k)[l];
    }
}

/* "_least_squares" of m rows: ``right`` is overwritten. */
static void least_squares(const Levels *of, npy_intp width, npy_intp m, const double *rows, const double *errors,
                          double *right, double *step)
{
    const npy_intp n = of->nv;
    double size[MAX_LANES], scale[MAX_LANES];
    dot(width, m, errors, errors, size);
    LANES scale[l] = of->least_damping;
    for (npy_intp a = 0; a < m; a++) {
        for (npy_intp b = 0; b <= a; b++)
            dot(width, n, AT(rows, a * n), AT(rows, b * n), AT(of->gram, a * m + b));
        LANES scale[l] += AT(of->gram, a * m + a)[l];
    }
    LANES {
        double length = sqrt(scale[l]);
        scale[l] = size[l] * length / (0.5 * sqrt(size[l]) + 2.0 * length) + of->least_damping;
    }
    for (npy_intp a = 0; a < m; a++)
        LANES AT(of->gram, a * m + a)[l] += scale[l];
    solve(width, m, of->gram, of->scaled, of->inverse, right);
    for (npy_intp i = 0; i < n; i++) {
        LANES AT(step, i)[l] = 0.0;
        for (npy_intp a = 0; a < m; a++)
            LANES AT(step, i)[l] += AT(rows, a * n + i)[l] * AT(right, a)[l];
    }
}

/* Rows, of which only what is free is left. */
static void freed(const Levels *of, npy_intp width, npy_intp m, const double *rows, double *out)
{
    for (npy_intp a = 0; a < m; a++)
        for (npy_intp i = 0; i < of->nv; i++)
            LANES AT(out, a * of->nv + i)[l] = AT(rows, a * of->nv + i)[l] * AT(of->free, i)[l];
}

/* "_without": what of a vector is across the first m units of the basis. */
static void without(const Levels *of, npy_intp width, npy_intp m, double *vector)
{
    double share[MAX_LANES];
    for (npy_intp a = 0; a < m; a++) {
        const double *unit = AT(of->basis, a * of->nv);
        dot(width, of->nv, unit, vector, share);
        for (npy_intp i = 0; i < of->nv; i++)
            LANES AT(vector, i)[l] -= share[l] * AT(unit, i)[l];
    }
}

/* Of the rows of the basis from ``a`` on, the largest is exchanged with the first, in every lane; its square is left in
 * ``size``. Of equal ones the first stays. */
static void largest_first(const Levels *of, npy_intp width, npy_intp a, npy_intp m, double *size)
{
    npy_intp chosen[MAX_LANES];
    double square[MAX_LANES];
    for (npy_intp b = a; b < m; b++) {
        dot(width, of->nv, AT(of->basis, b * of->nv), AT(of->basis, b * of->nv), square);
        LANES if (b == a || square[l] > size[l]) {
            size[l] = square[l];
            chosen[l] = b;
        }
    }
    LANES if (chosen[l] != a) for (npy_intp i = 0; i < of->nv; i++) {
        double *first = AT(of->basis, a * of->nv + i) + l, *other = AT(of->basis, chosen[l] * of->nv + i) + l, kept = *first;
        *first = *other;
        *other = kept;
    }
}

/* "_basis" of the first m rows, as far as they are free. */
static void make_basis(const Levels *of, npy_intp width, npy_intp m, const double *rows)
{
    double size[MAX_LANES], share[MAX_LANES];
    freed(of, width, m, rows, of->basis);
    for (npy_intp a = 0; a < m; a++) {
        double *unit = AT(of->basis, a * of->nv);
        largest_first(of, width, a, m, size);
        LANES size[l] = 1.0 / sqrt(size[l] + of->smallest_row);
        for (npy_intp i = 0; i < of->nv; i++)
            LANES AT(unit, i)[l] *= size[l];
        for (npy_intp b = a + 1; b < m; b++) {
            double *row = AT(of->basis, b * of->nv);
            dot(width, of->nv, unit, row, share);
            for (npy_intp i = 0; i < of->nv; i++)
                LANES AT(row, i)[l] -= share[l] * AT(unit, i)[l];
        }
    }
}

/* "first_level". */
static void first_level(const Levels *of, npy_intp width, const double *rows, const double *errors, const double *low,
                        const double *high, double *step)
{
    const npy_intp n = of->nv, m = of->ends[0];
    const size_t all = (size_t)(m * width) * sizeof(double);
    int held = 0;
    memcpy(of->right, errors, all);
    least_squares(of, width, m, rows, errors, of->right, step);
    for (npy_intp i = 0; i < n; i++)
        LANES {
            double x = AT(step, i)[l], least = AT(low, i)[l], most = AT(high, i)[l];
            int out = x < least || most < x;
            held |= out;
            AT(of->free, i)[l] = out ? 0.0 : 1.0;
            AT(of->held, i)[l] = !out ? 0.0 : x < 0.0 ? least : most;
        }
    if (held) { /* if not, the same again */
        memcpy(of->right, errors, all);
        for (npy_intp a = 0; a < m; a++) {
            double done[MAX_LANES];
            dot(width, n, AT(rows, a * n), of->held, done);
            LANES AT(of->right, a)[l] -= done[l];
        }
        freed(of, width, m, rows, of->projected);
        least_squares(of, width, m, of->projected, errors, of->right, step);
    }
    for (npy_intp i = 0; i < n; i++)
        LANES {
            double x = AT(step, i)[l] + AT(of->held, i)[l], least = AT(low, i)[l], most = AT(high, i)[l];
            AT(step, i)[l] = x < least ? least : most < x ? most : x;
        }
}

/* "_wish" of rows from ``first`` to ``last``, or "_posture_wish" where there are none, then "_bounded". */
static void wish(const Levels *of, npy_intp width, npy_intp first, npy_intp last, const double *rows, const double *errors,
                 const double *way)
{
    const npy_intp n = of->nv, m = last - first;
    double *more = of->more, size[MAX_LANES];
    make_basis(of, width, first, rows);
    if (m > 0) {
        freed(of, width, m, AT(rows, first * n), of->projected);
        for (npy_intp a = 0; a < m; a++)
            without(of, width, first, AT(of->projected, a * n));
        memcpy(of->right, of->rest, (size_t)(m * width) * sizeof(double));
        least_squares(of, width, m, of->projected, AT(errors, first), of->right, more);
    } else {
        freed(of, width, 1, way, more);
        without(of, width, first, more);
    }
    dot(width, n, more, more, size);
    LANES size[l] = of->longest[l] / sqrt(of->longest[l] * of->longest[l] + size[l]);
    for (npy_intp i = 0; i < n; i++)
        LANES AT(more, i)[l] *= size[l];
}

/* "_gap". */
static inline double gap(double start, double more, double low, double high)
{
    double found = more < 0.0 ? start - low : high - start;
    return found < 0.0 ? 0.0 : found;
}

/* "lower_level". */
static void lower_level(const Levels *of, npy_intp width, npy_intp first, npy_intp last, const double *rows,
                        const double *errors, const double *low, const double *high, const double *way, double *step,
                        double *settled)
{
    const npy_intp n = of->nv;
    double share[MAX_LANES];
    for (npy_intp a = first; a < last; a++) {
        dot(width, n, AT(rows, a * n), step, share);
        LANES AT(of->rest, a - first)[l] = AT(errors, a)[l] - share[l];
    }
    for (int look = 0; look < of->looks; look++) {
        int changed = look == 0;
        for (npy_intp i = 0; i < n && look > 0; i++)
            LANES {
                double room = gap(AT(step, i)[l], AT(of->more, i)[l], AT(low, i)[l], AT(high, i)[l]);
                int stopped = room < of->at_a_limit && AT(of->free, i)[l] != 0.0;
                changed |= stopped;
                if (stopped)
                    AT(of->free, i)[l] = 0.0;
            }
        if (!changed) /* it would wish the same again */
            break;
        wish(of, width, first, last, rows, errors, way);
    }
    LANES share[l] = 1.0;
    for (npy_intp i = 0; i < n; i++)
        LANES {
            double more = AT(of->more, i)[l], size = fabs(more);
            double room = gap(AT(step, i)[l], more, AT(low, i)[l], AT(high, i)[l]);
            if (share[l] * size > room)
                share[l] = room / size;
        }
    for (npy_intp i = 0; i < n; i++)
        LANES AT(of->more, i)[l] *= share[l];
    for (npy_intp i = 0; i < n; i++)
        LANES AT(step, i)[l] += AT(of->more, i)[l];
    dot(width, n, of->more, of->more, settled);
}

void levels_step(const Levels *of, npy_intp width, const double *rows, const double *errors, const double *low,
                 const double *high, const double *way, double *step, double *settled)
{
    first_level(of, width, rows, errors, low, high, step);
    for (npy_intp level = 1; level < of->levels; level++)
        lower_level(of, width, of->ends[level - 1], of->ends[level], rows, errors, low, high, way, step, settled);
    LANES settled[l] = 0.0;
    const npy_intp last = of->ends[of->levels - 1];
    if (of->posture)
        lower_level(of, width, last, last, rows, errors, low, high, way, step, settled);
}

npy_intp levels_room(npy_intp nv, npy_intp rows)
{
    return 2 * rows * nv + 2 * rows * rows + 3 * rows + 3 * nv;
}

void levels_place(Levels *of, npy_intp width, npy_intp rows, double *room)
{
    double **const places[] = {&of->basis, &of->projected, &of->gram, &of->scaled, &of->inverse,
                               &of->right, &of->rest,      &of->free, &of->held,   &of->more};
    const npy_intp sizes[] = {rows * of->nv, rows * of->nv, rows * rows, rows * rows, rows, rows, rows, of->nv, of->nv,
                              of->nv};
    for (int i = 0; i < 10; room += sizes[i] * width, i++)
        *places[i] = room;
}
