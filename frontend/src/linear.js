// Small matrices, stored row by row in flat arrays.

/** Solve A x = b for a symmetric, positive definite A (n x n); b is replaced by x. Returns false where A is not. */
export function solveInPlace(A, b, n) {
  const L = Float64Array.from(A);
  for (let j = 0; j < n; j++) {
    let d = L[j * n + j];
    for (let k = 0; k < j; k++) d -= L[j * n + k] ** 2;
    if (!(d > 0)) return false;
    const root = Math.sqrt(d);
    L[j * n + j] = root;
    for (let i = j + 1; i < n; i++) {
      let x = L[i * n + j];
      for (let k = 0; k < j; k++) x -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = x / root;
    }
  }
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) b[i] -= L[i * n + k] * b[k];
    b[i] /= L[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) b[i] -= L[k * n + i] * b[k];
    b[i] /= L[i * n + i];
  }
  return true;
}

/** Eigenvalues and eigenvectors (columns of a 3 x 3) of a symmetric 3 x 3 matrix, by Jacobi's rotations. */
export function principal(S) {
  const A = Float64Array.from(S);
  const V = Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1);
  for (let sweep = 0; sweep < 30; sweep++) {
    const off = A[1] ** 2 + A[2] ** 2 + A[5] ** 2;
    if (off <= 1e-30 * (A[0] ** 2 + A[4] ** 2 + A[8] ** 2)) break;
    for (const [p, r] of [[0, 1], [0, 2], [1, 2]]) {
      const apr = A[3 * p + r];
      if (apr === 0) continue;
      const theta = (A[4 * r] - A[4 * p]) / (2 * apr);
      const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
      const c = 1 / Math.hypot(t, 1), s = t * c;
      for (let k = 0; k < 3; k++) {
        const x = A[3 * k + p], y = A[3 * k + r];
        A[3 * k + p] = c * x - s * y;
        A[3 * k + r] = s * x + c * y;
      }
      for (let k = 0; k < 3; k++) {
        const x = A[3 * p + k], y = A[3 * r + k];
        A[3 * p + k] = c * x - s * y;
        A[3 * r + k] = s * x + c * y;
      }
      for (let k = 0; k < 3; k++) {
        const x = V[3 * k + p], y = V[3 * k + r];
        V[3 * k + p] = c * x - s * y;
        V[3 * k + r] = s * x + c * y;
      }
    }
  }
  return { values: [A[0], A[4], A[8]], vectors: V };
}
