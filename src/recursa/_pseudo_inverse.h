#ifndef RECURSA_PSEUDO_INVERSE_H
#define RECURSA_PSEUDO_INVERSE_H

#define MAX_SMALL 24 /* rows and columns */

/* The pseudo-inverse of a symmetric positive semidefinite matrix n x n, and its rank; see pseudo_inverse.py. */
int small_pseudo_inverse(int n, const double *matrix, const double *scale, double limit, double *result);

#endif
