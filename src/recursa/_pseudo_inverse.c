/* Pseudo-inverses of small matrices B B*, from B itself, which has half as many digits to lose. Matrices are stored row by row. */
#include "_pseudo_inverse.h"
#include "_singular.h"
#include <math.h>
#include <string.h>

#define SWEEPS 60
#define ORTHOGONAL 1e-15 /* cosine of the angle between two rows below which they are left alone */
#define VANISHING 1e-32  /* the square of a row, as a part of that of all, that is rounding */
#define NOTHING 1e-31    /* of the square of the longest row, that is left of a row when nothing is left */

typedef double Matrix[MAX_SMALL * MAX_SMALL];
typedef double Turned[2 * MAX_SMALL * MAX_SMALL];

static double squares(int count, const double *numbers)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * numbers[i];
    return sum;
}

/* ``P A = L Q``: L a lower triangle of so many columns as A has rank, the rows of Q orthonormal, P an order of the rows of A.
 * What is left of the other rows is at most ``left`` long; all other rows of L are complete, too. */
typedef struct {
    int rank, order[MAX_SMALL];
    double left;
    Matrix l;
} Triangle;

/* By Householder's reflections, of the longest row that is left; A (m, n) is overwritten. */
static void reflect(int m, npy_intp n, double *a, Triangle *of)
{
    double longest = 0.0;
    for (int i = 0; i < m; i++)
        of->order[i] = i;
    for (of->rank = 0, of->left = 0.0; of->rank < m; of->rank++) {
        const int k = of->rank;
        int pivot = k;
        double square = -1.0, all = 0.0;
        for (int i = k; i < m; i++) {
            const double *row = a + of->order[i] * n;
            double sum = 0.0;
            for (npy_intp j = k; j < n; j++)
                sum += row[j] * row[j];
            all += sum;
            if (sum > square) {
                square = sum;
                pivot = i;
            }
        }
        of->left = sqrt(all);
        if (k == 0)
            longest = square;
        if (k >= n || !(square > NOTHING * longest))
            return;
        const int at = of->order[pivot];
        of->order[pivot] = of->order[k];
        of->order[k] = at;
        for (int j = 0; j < k; j++) {
            const double entry = of->l[pivot * MAX_SMALL + j];
            of->l[pivot * MAX_SMALL + j] = of->l[k * MAX_SMALL + j];
            of->l[k * MAX_SMALL + j] = entry;
        }
        double *row = a + at * n;
        const double first = row[k], norm = sqrt(square), diagonal = first > 0.0 ? -norm : norm;
        const double factor = 1.0 / (norm * (norm + fabs(first)));
        of->l[k * MAX_SMALL + k] = diagonal;
        for (int j = k + 1; j < m; j++)
            of->l[k * MAX_SMALL + j] = 0.0;
        row[k] = first - diagonal;
        for (int i = k + 1; i < m; i++) {
            double *other = a + of->order[i] * n, sum = 0.0;
            for (npy_intp j = k; j < n; j++)
                sum += row[j] * other[j];
            sum *= factor;
            for (npy_intp j = k; j < n; j++)
                other[j] -= sum * row[j];
            of->l[i * MAX_SMALL + k] = other[k];
        }
    }
    of->left = 0.0;
}

/* The inverse of the triangle; 0 if norms, which bound the ratio of singular values, do not tell that all of these are above the limit. */
static int inverted(const Triangle *of, double limit, double *result)
{
    const double *l = of->l;
    double norm = 0.0, inverse_norm = 0.0;
    for (int j = 0; j < of->rank; j++) {
        result[j * MAX_SMALL + j] = 1.0 / l[j * MAX_SMALL + j];
        for (int i = j + 1; i < of->rank; i++) {
            double sum = 0.0;
            for (int k = j; k < i; k++)
                sum += l[i * MAX_SMALL + k] * result[k * MAX_SMALL + j];
            result[i * MAX_SMALL + j] = -sum / l[i * MAX_SMALL + i];
        }
    }
    for (int i = 0; i < of->rank; i++) {
        norm += squares(i + 1, l + i * MAX_SMALL);
        inverse_norm += squares(i + 1, result + i * MAX_SMALL);
    }
    return 2.0 * limit * sqrt(norm) * sqrt(inverse_norm) < 1.0;
}

/* ``inv(A A*)`` of all rows, from the inverse of the triangle. */
static void from_triangle(int m, const Triangle *of, const double *inverse, const double *scale, double *result)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            const int row = of->order[i], column = of->order[j];
            double sum = 0.0;
            for (int k = i; k < m; k++)
                sum += inverse[k * MAX_SMALL + i] * inverse[k * MAX_SMALL + j];
            result[row * m + column] = result[column * m + row] = sum * scale[row] * scale[column];
        }
}

/* The triangle of ``L*`` (rank, m), where L is divided by ``by``, in the order of its rows. */
static void of_columns(int m, const Triangle *of, const double *by, Triangle *columns)
{
    Matrix turned;
    for (int i = 0; i < m; i++)
        for (int k = 0; k < of->rank; k++)
            turned[k * m + i] = of->l[i * MAX_SMALL + k] / (by == NULL ? 1.0 : by[of->order[i]]);
    reflect(of->rank, m, turned, columns);
}

/* Where it is certain how many rows of A depend on the others: ``A = L Q`` with ``L = U T``, so that the pseudo-inverse of A A* is
 * ``U inv(T)* inv(T) U*``. Returns 0 where singular values have to decide. */
static int from_columns(int m, const Triangle *of, const double *scale, double limit, double *result)
{
    Triangle columns;
    Matrix inverse;
    double y[MAX_SMALL], rows[MAX_SMALL][MAX_SMALL];
    if (of->rank == 0 || !(2.0 * of->left < limit * fabs(of->l[0])))
        return 0;
    of_columns(m, of, NULL, &columns);
    if (columns.rank < of->rank || !inverted(&columns, limit, inverse))
        return 0;
    of_columns(m, of, scale, &columns); /* scaling commutes with inverses, not with pseudo-inverses */
    if (columns.rank < of->rank || !inverted(&columns, limit, inverse))
        return 0;
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < of->rank; k++) { /* a row of U = L inv(T), whose columns are in their own order */
            y[k] = 0.0;
            for (int j = 0; j <= k; j++)
                y[k] += of->l[i * MAX_SMALL + columns.order[j]] / scale[of->order[i]] * inverse[k * MAX_SMALL + j];
        }
        for (int k = 0; k < of->rank; k++) { /* times inv(T)* */
            rows[i][k] = 0.0;
            for (int j = k; j < of->rank; j++)
                rows[i][k] += y[j] * inverse[j * MAX_SMALL + k];
        }
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            const int row = of->order[i], column = of->order[j];
            double sum = 0.0;
            for (int k = 0; k < of->rank; k++)
                sum += rows[i][k] * rows[j][k];
            result[row * m + column] = result[column * m + row] = sum;
        }
    return 1;
}

/* Singular values of A (m, n), its rows divided by ``by``, in falling order; the rows of ``turned`` (m, count + m) end in U*. A is the
 * triangle with what is left of it. */
static void decomposed(int m, const Triangle *of, const double *by, double *turned, int *order, double *values)
{
    const int count = of->rank, wide = count + m;
    double all = 0.0;
    memset(turned, 0, (size_t)(m * wide) * sizeof(double));
    for (int i = 0; i < m; i++) {
        const int row = of->order[i];
        for (int j = 0; j < count; j++)
            turned[row * wide + j] = by == NULL ? of->l[i * MAX_SMALL + j] : of->l[i * MAX_SMALL + j] / by[row];
        turned[row * wide + count + row] = 1.0;
        all += squares(count, turned + row * wide);
    }
    for (int sweep = 0, some = 1; some && sweep < SWEEPS; sweep++) {
        some = 0;
        for (int p = 0; p < m; p++)
            for (int q = p + 1; q < m; q++)
                some |= turn_two_rows(turned + p * wide, turned + q * wide, count, wide, ORTHOGONAL, VANISHING * all);
    }
    for (int i = 0; i < m; i++) { /* insertion sort */
        const double value = sqrt(squares(count, turned + i * wide));
        int at = i;
        for (; at > 0 && values[at - 1] < value; at--) {
            values[at] = values[at - 1];
            order[at] = order[at - 1];
        }
        values[at] = value;
        order[at] = i;
    }
}

/* From singular values: those above the limit count. */
static int from_singular_values(int m, const Triangle *of, const double *scale, double limit, double *result)
{
    Turned turned;
    double values[MAX_SMALL];
    int order[MAX_SMALL], rank = 0;
    decomposed(m, of, NULL, turned, order, values);
    while (rank < m && values[rank] > limit * values[0])
        rank++;
    if (rank < m) /* scaling commutes with inverses, not with pseudo-inverses */
        decomposed(m, of, scale, turned, order, values);
    memset(result, 0, (size_t)(m * m) * sizeof(double));
    for (int k = 0; k < rank; k++) {
        const double *axis = turned + order[k] * (of->rank + m) + of->rank, square = values[k] * values[k];
        for (int i = 0; i < m; i++)
            for (int j = 0; j <= i; j++)
                result[i * m + j] += axis[i] * axis[j] / square;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            const double by = rank < m ? 1.0 : scale[i] * scale[j];
            result[i * m + j] = result[j * m + i] = result[i * m + j] * by;
        }
    return rank;
}

int small_pseudo_inverse(int m, npy_intp n, double *factor, const double *scale, double limit, double *result)
{
    Triangle triangle;
    Matrix inverse;
    const double root = sqrt(limit);
    for (int i = 0; i < m; i++)
        for (npy_intp j = 0; j < n; j++)
            factor[i * n + j] *= scale[i];
    reflect(m, n, factor, &triangle);
    if (triangle.rank == m && inverted(&triangle, root, inverse)) {
        from_triangle(m, &triangle, inverse, scale, result);
        return m;
    }
    if (triangle.rank < m && from_columns(m, &triangle, scale, root, result))
        return triangle.rank;
    return from_singular_values(m, &triangle, scale, root, result);
}
