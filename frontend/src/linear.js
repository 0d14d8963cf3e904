// Small matrices, stored row by row in flat arrays.

/** The lower factor L of a symmetric, positive definite A = L L* (n x n); null where A is not. */
function cholesky(A, n) {
  const L = Float64Array.from(A);
  for (let j = 0; j < n; j++) {
    let d = L[j * n + j];
    for (let k = 0; k < j; k++) d -= L[j * n + k] ** 2;
    if (!(d > 0)) return null;
    const root = Math.sqrt(d);
    L[j * n + j] = root;
    for (let i = j + 1; i < n; i++) {
      let x = L[i * n + j];
      for (let k = 0; k < j; k++) x -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = x / root;
    }
  }
  return L;
}

/** Solve A x = b for a symmetric, positive definite A (n x n); b is replaced by x. Returns false where A is not. */
export function solveInPlace(A, b, n) {
  const L = cholesky(A, n);
  if (!L) return false;
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

/** The diagonal of inv(A) of a symmetric A; where A is not positive definite, 1 over its own diagonal. */
export function inverseDiagonal(A, n) {
  const L = cholesky(A, n), found = new Float64Array(n);
  if (!L) return found.map((_, k) => 1 / A[k * n + k]);
  const x = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    for (let i = k; i < n; i++) {
      let rest = i === k ? 1 : 0;
      for (let j = k; j < i; j++) rest -= L[i * n + j] * x[j];
      x[i] = rest / L[i * n + i];
      found[k] += x[i] * x[i];
    }
  }
  return found;
}

const RANK = 1e-9; // of the largest row: what is left of a row that depends on others

/** The shortest of all x for which A x - b is shortest; A has n columns and any rank. */
export function fitted(A, b, n) {
  const rows = Array.from(b, (_, i) => A.slice(i * n, (i + 1) * n)), rest = rows.map(row => row.slice()), basis = [];
  const largest = Math.max(...rows.map(row => dot(row, row)), 0);
  while (basis.length < Math.min(n, rows.length)) { // Gram and Schmidt, the longest row first, each of them twice
    const sizes = rest.map(row => dot(row, row)), longest = sizes.indexOf(Math.max(...sizes));
    if (!(sizes[longest] > RANK ** 2 * largest)) break;
    const one = rest[longest];
    for (const other of basis) subtract(one, other, dot(one, other));
    const length = Math.sqrt(dot(one, one)), unit = one.map(x => x / length);
    basis.push(unit);
    for (const row of rest) subtract(row, unit, dot(row, unit));
  }
  const r = basis.length, B = rows.map(row => basis.map(unit => dot(row, unit))), normal = new Float64Array(r * r);
  B.forEach(row => row.forEach((x, i) => row.forEach((y, j) => (normal[i * r + j] += x * y))));
  const x = new Float64Array(n), left = Float64Array.from(b);
  for (let round = 0; round < 2; round++) { // the second for what rounding left of the first
    const y = new Float64Array(r);
    B.forEach((row, i) => row.forEach((z, j) => (y[j] += z * left[i])));
    if (!solveInPlace(normal, y, r)) break;
    basis.forEach((unit, j) => subtract(x, unit, -y[j]));
    rows.forEach((row, i) => (left[i] = b[i] - dot(row, x)));
  }
  return x;
}

function dot(x, y) {
  let sum = 0;
  for (let k = 0; k < x.length; k++) sum += x[k] * y[k];
  return sum;
}

function subtract(x, y, factor) {
  for (let k = 0; k < x.length; k++) x[k] -= factor * y[k];
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
