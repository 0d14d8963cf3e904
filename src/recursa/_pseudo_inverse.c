/* Pseudo-inverses of small symmetric positive semidefinite matrices, stored row by row; the lower triangle counts. */
#include "_pseudo_inverse.h"
#include <math.h>
#include <string.h>

#define SWEEPS 60
#define CERTAIN 1e-12  /* nearer to singular than this, eigenvalues decide */
#define ROUNDING 1e-14 /* what is left of the largest diagonal entry when nothing is left */

typedef double Matrix[MAX_SMALL * MAX_SMALL];

/* Whether the ratio of the eigenvalues of a matrix is so far from ``limit`` that norms, which bound it, can tell. */
static int is_regular(double norm, double inverse_norm, double limit)
{
    return 2.0 * (limit > CERTAIN ? limit : CERTAIN) * norm * inverse_norm < 1.0;
}

static double frobenius(int n, const double *a)
{
    double sum = 0.0;
    for (int i = 0; i < n * n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* ``A = L L*``; 0 where a pivot is not positive. Above the diagonal L is not written. */
static int cholesky(int n, const double *a, double *l)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i != j)
                l[i * n + j] = sum / l[j * n + j];
            else if (sum > 0.0)
                l[i * n + i] = sqrt(sum);
            else
                return 0;
        }
    return 1;
}

/* The inverse of ``L L*``; L becomes its own inverse. */
static void inverted(int n, double *l, double *result)
{
    for (int j = 0; j < n; j++) {
        l[j * n + j] = 1.0 / l[j * n + j];
        for (int i = j + 1; i < n; i++) {
            double sum = 0.0;
            for (int k = j; k < i; k++)
                sum += l[i * n + k] * l[k * n + j];
            l[i * n + j] = -sum / l[i * n + i];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = i; k < n; k++)
                sum += l[k * n + i] * l[k * n + j];
            result[i * n + j] = result[j * n + i] = sum;
        }
}

/* ``A = L L*`` with L (n, rank), which is returned, largest pivots first; A becomes the rest. */
static int pivoted_cholesky(int n, double *a, double floor, double *l)
{
    int used[MAX_SMALL] = {0};
    for (int k = 0; k < n; k++) {
        int p = -1;
        for (int i = 0; i < n; i++)
            if (!used[i] && (p < 0 || a[i * n + i] > a[p * n + p]))
                p = i;
        if (!(a[p * n + p] > floor))
            return k;
        double root = sqrt(a[p * n + p]);
        for (int i = 0; i < n; i++)
            l[i * n + k] = used[i] ? 0.0 : a[i * n + p] / root;
        used[p] = 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                a[i * n + j] = used[i] || used[j] ? 0.0 : a[i * n + j] - l[i * n + k] * l[j * n + k];
                a[j * n + i] = a[i * n + j];
            }
    }
    return n;
}

/* ``inv(L* L)`` for L (n, rank); the norm of it, or infinity where there is none. */
static double inverse_gram(int n, int rank, const double *l, double *result)
{
    Matrix gram, work;
    for (int i = 0; i < rank; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++)
                sum += l[k * n + i] * l[k * n + j];
            gram[i * rank + j] = gram[j * rank + i] = sum;
        }
    if (!cholesky(rank, gram, work))
        return INFINITY;
    inverted(rank, work, result);
    return frobenius(rank, result);
}

/* A matrix whose rank is clearly less than its size: from its factors, ``pinv(L L*) = Y Y*``, ``Y = L inv(L* L)``.
 * ``a`` is the scaled matrix. Returns the rank, or -1 where eigenvalues have to decide. */
static int from_factors(int n, const double *a, const double *scale, double limit, double *result)
{
    Matrix rest, l, gram;
    double largest = 0.0, left = 0.0, norm = 0.0;
    memcpy(rest, a, (size_t)(n * n) * sizeof(double));
    for (int i = 0; i < n; i++)
        largest = a[i * n + i] > largest ? a[i * n + i] : largest;
    int rank = pivoted_cholesky(n, rest, ROUNDING * n * largest, l);
    for (int i = 0; i < n; i++)
        left += fabs(rest[i * n + i]);
    if (rank == 0 || rank == n || !(2.0 * left < limit * largest) ||
        !is_regular(frobenius(n, a), inverse_gram(n, rank, l, gram), limit))
        return -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < rank; k++) {
            l[i * n + k] /= scale[i]; /* the factor of the matrix itself */
            norm += l[i * n + k] * l[i * n + k];
        }
    if (!is_regular(norm, inverse_gram(n, rank, l, gram), limit))
        return -1;
    double *y = rest;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < rank; k++) {
            double sum = 0.0;
            for (int m = 0; m < rank; m++)
                sum += l[i * n + m] * gram[m * rank + k];
            y[i * rank + k] = sum;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = 0; k < rank; k++)
                sum += y[i * rank + k] * y[j * rank + k];
            result[i * n + j] = result[j * n + i] = sum;
        }
    return rank;
}

/* Turns two axes so that a[p, q] vanishes. Rows of v are the axes. */
static void rotate(int n, double *a, double *v, int p, int q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[q * n + p]);
    double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        x = v[p * n + k], y = v[q * n + k];
        v[p * n + k] = c * x - s * y;
        v[q * n + k] = s * x + c * y;
    }
    a[p * n + q] = a[q * n + p] = 0.0;
}

/* Eigenvalues on the diagonal of a, eigenvectors in the rows of v: Jacobi's method. */
static void diagonalize(int n, double *a, double *v)
{
    memset(v, 0, (size_t)(n * n) * sizeof(double));
    for (int i = 0; i < n; i++)
        v[i * n + i] = 1.0;
    double small = 1e-18 * frobenius(n, a);
    for (int sweep = 0, turned = 1; turned && sweep < SWEEPS; sweep++) {
        turned = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[q * n + p]) > small) {
                    rotate(n, a, v, p, q);
                    turned = 1;
                }
    }
}

/* The symmetric matrix with rows and columns scaled. */
static void scaled(int n, const double *matrix, const double *scale, double *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            a[i * n + j] = a[j * n + i] = matrix[i * n + j] * scale[i] * scale[j];
}

/* ``V inv(w) V*`` over the largest eigenvalues, so many of them. */
static void from_largest(int n, const double *a, const double *v, int rank, double *result)
{
    int used[MAX_SMALL] = {0};
    memset(result, 0, (size_t)(n * n) * sizeof(double));
    for (int taken = 0; taken < rank; taken++) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!used[i] && (best < 0 || a[i * n + i] > a[best * n + best]))
                best = i;
        used[best] = 1;
        const double *axis = v + best * n;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                result[i * n + j] += axis[i] * axis[j] / a[best * n + best];
    }
}

/* By eigenvalues: those above the limit count. ``a`` is the scaled matrix, which is overwritten. */
static int from_eigenvalues(int n, const double *matrix, double *a, const double *scale, double limit, double *result)
{
    Matrix axes;
    double ones[MAX_SMALL], largest = 0.0;
    int rank = 0;
    diagonalize(n, a, axes);
    for (int i = 0; i < n; i++)
        largest = a[i * n + i] > largest ? a[i * n + i] : largest;
    for (int i = 0; i < n; i++)
        rank += a[i * n + i] > limit * largest;
    if (rank == n) {
        from_largest(n, a, axes, n, result);
        scaled(n, result, scale, result);
        return n;
    }
    for (int i = 0; i < n; i++) /* scaling commutes with inverses, not with pseudo-inverses */
        ones[i] = 1.0;
    scaled(n, matrix, ones, a);
    diagonalize(n, a, axes);
    from_largest(n, a, axes, rank, result);
    return rank;
}

int small_pseudo_inverse(int n, const double *matrix, const double *scale, double limit, double *result)
{
    Matrix a, work;
    scaled(n, matrix, scale, a);
    if (cholesky(n, a, work)) {
        inverted(n, work, result);
        if (is_regular(frobenius(n, a), frobenius(n, result), limit)) {
            scaled(n, result, scale, result);
            return n;
        }
    }
    int rank = from_factors(n, a, scale, limit, result);
    return rank >= 0 ? rank : from_eigenvalues(n, matrix, a, scale, limit, result);
}
