/* Arithmetic with the constants of a robot, plain numbers, that loading does for every link and joint. spatial/constants.py
 * has the same in Python, and the same bits: one operation here for one there, in the same order. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

extern PyMethodDef constant_functions[];

static PyObject *no_transform, *identity, *x_axis, *no_inertia; /* named tuples; identity is a rotation */

static int number(PyObject *given, double *found)
{
    *found = PyFloat_CheckExact(given) ? PyFloat_AS_DOUBLE(given) : PyFloat_AsDouble(given);
    return *found == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int numbers(PyObject *given, double *found, Py_ssize_t count)
{
    int list = PyList_CheckExact(given);
    if ((!list && !PyTuple_Check(given)) || PySequence_Fast_GET_SIZE(given) != count) {
        PyErr_Format(PyExc_TypeError, "expected %zd numbers in a tuple or a list", count);
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) /* a number of another kind may run code, which may shorten a list */
        if ((list && PyList_GET_SIZE(given) != count) || number(PySequence_Fast_GET_ITEM(given, k), &found[k]) < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "the list of numbers has changed");
            return -1;
        }
    return 0;
}

/* A named tuple of numbers. */
static PyObject *tuple_of(PyTypeObject *type, const double *values, Py_ssize_t count)
{
    PyObject *made = type->tp_alloc(type, count);
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) {
        PyObject *value = PyFloat_FromDouble(values[k]);
        if (value == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, k, value);
    }
    return made;
}

/* A named tuple of parts, whose references it takes; NULL if any is NULL. */
static PyObject *put_together(PyTypeObject *type, PyObject *const *parts, Py_ssize_t count)
{
    PyObject *made = type->tp_alloc(type, count);
    for (Py_ssize_t k = 0; k < count; k++)
        if (made != NULL && parts[k] != NULL)
            PyTuple_SET_ITEM(made, k, parts[k]);
        else {
            Py_XDECREF(parts[k]);
            Py_CLEAR(made);
        }
    return made;
}

/* Whether so many arguments are there, the last of them named tuples, and what has to be known is known. */
static int fitting(PyObject *const *given, Py_ssize_t count, Py_ssize_t wanted, Py_ssize_t tuples)
{
    int fine = count == wanted && no_inertia != NULL;
    for (Py_ssize_t k = wanted - tuples; fine && k < wanted; k++)
        fine = PyTuple_Check(given[k]);
    if (!fine)
        PyErr_SetString(PyExc_TypeError, "expected other arguments; see spatial/constants.py");
    return fine;
}

static PyObject *know(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !PyTuple_Check(given[0]) || !PyTuple_Check(given[1]) || !PyTuple_Check(given[2]) ||
        PyTuple_GET_SIZE(given[0]) != 2 || PyTuple_GET_SIZE(given[1]) != 3 || PyTuple_GET_SIZE(given[2]) != 3 ||
        !PyTuple_Check(PyTuple_GET_ITEM(given[0], 0)) || PyTuple_GET_SIZE(PyTuple_GET_ITEM(given[0], 0)) != 9 ||
        !PyTuple_Check(PyTuple_GET_ITEM(given[2], 2))) {
        PyErr_SetString(PyExc_TypeError, "expected a transform, a vector and an inertia");
        return NULL;
    }
    PyObject *new[] = {given[0], PyTuple_GET_ITEM(given[0], 0), given[1], given[2]};
    PyObject **places[] = {&no_transform, &identity, &x_axis, &no_inertia};
    for (int k = 0; k < 4; k++) {
        Py_INCREF(new[k]);
        Py_XSETREF(*places[k], new[k]);
    }
    Py_RETURN_NONE;
}

/* ---- rotations --------------------------------------------------------------------------------------------------- */

#define TOLERANCE 1e-15

static double snap(double entry)
{
    double size = fabs(entry);
    return size <= TOLERANCE ? 0.0 : fabs(size - 1.0) <= TOLERANCE ? copysign(1.0, entry) : entry;
}

/* The rotation itself where nothing changes, the identity where it is that, else a new one. */
static PyObject *exact(PyObject *rotation, const double *entries)
{
    double snapped[9];
    int same = rotation != NULL, none = 1;
    for (int k = 0; k < 9; k++) {
        snapped[k] = snap(entries[k]);
        same = same && snapped[k] == entries[k] && signbit(snapped[k]) == signbit(entries[k]);
        none = none && snapped[k] == (k % 4 == 0 ? 1.0 : 0.0);
    }
    if (none)
        return Py_NewRef(identity);
    return same ? Py_NewRef(rotation) : tuple_of(Py_TYPE(identity), snapped, 9);
}

static PyObject *snapped(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double entries[9];
    (void)module;
    if (!fitting(given, count, 1, 1))
        return NULL;
    if (given[0] == identity)
        return Py_NewRef(identity);
    return numbers(given[0], entries, 9) < 0 ? NULL : exact(given[0], entries);
}

static PyObject *rotation_of(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double q[4];
    (void)module;
    if (!fitting(given, count, 1, 0) || numbers(given[0], q, 4) < 0)
        return NULL;
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    if (x == 0.0 && y == 0.0 && z == 0.0)
        return Py_NewRef(identity);
    const double norm_squared = x * x + y * y + z * z + w * w, s = 2.0 / norm_squared;
    if (norm_squared == 0.0) {
        PyErr_SetString(PyExc_ZeroDivisionError, "the quaternion is too short");
        return NULL;
    }
    const double sx = s * x, sy = s * y, sz = s * z;
    const double xx = sx * x, yy = sy * y, zz = sz * z, xy = sx * y, xz = sx * z, yz = sy * z;
    const double wx = sx * w, wy = sy * w, wz = sz * w;
    const double entries[9] = {1.0 - (yy + zz), xy - wz, xz + wy, xy + wz,        1.0 - (xx + zz),
                               yz - wx,         xz - wy, yz + wx, 1.0 - (xx + yy)};
    return exact(NULL, entries);
}

typedef struct {
    PyObject *rotation;
    double r[9], t[3];
    int none; /* whether it is the identity */
} Pose;

static int pose_of(PyObject *given, Pose *found)
{
    if (PyTuple_GET_SIZE(given) != 2) {
        PyErr_SetString(PyExc_TypeError, "expected a transform");
        return -1;
    }
    found->rotation = PyTuple_GET_ITEM(given, 0);
    if (numbers(found->rotation, found->r, 9) < 0 || numbers(PyTuple_GET_ITEM(given, 1), found->t, 3) < 0)
        return -1;
    found->none = found->t[0] == 0.0 && found->t[1] == 0.0 && found->t[2] == 0.0;
    for (int k = 0; k < 9; k++)
        found->none = found->none && found->r[k] == (k % 4 == 0 ? 1.0 : 0.0);
    return 0;
}

static PyObject *placed(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Pose outer, inner;
    double r[9], t[3];
    (void)module;
    if (!fitting(given, count, 2, 2))
        return NULL;
    if (given[0] == no_transform && given[1] == no_transform)
        return Py_NewRef(no_transform);
    if (pose_of(given[0], &outer) < 0 || pose_of(given[1], &inner) < 0)
        return NULL;
    const Pose *only = outer.none ? &inner : inner.none ? &outer : NULL;
    for (int i = 0; i < 3; i++) {
        const double *a = outer.r + 3 * i, *b = inner.r, *p = inner.t;
        for (int k = 0; k < 3; k++)
            r[3 * i + k] = a[0] * b[k] + a[1] * b[3 + k] + a[2] * b[6 + k];
        t[i] = only != NULL ? only->t[i] + 0.0 : a[0] * p[0] + a[1] * p[1] + a[2] * p[2] + outer.t[i];
    }
    PyObject *parts[2] = {only != NULL ? exact(only->rotation, only->r) : exact(NULL, r), tuple_of(Py_TYPE(x_axis), t, 3)};
    return put_together(Py_TYPE(no_transform), parts, 2);
}

/* ---- axes and inertias ------------------------------------------------------------------------------------------- */

static PyObject *unit_axis(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double a[3];
    (void)module;
    if (!fitting(given, count, 1, 1) || numbers(given[0], a, 3) < 0)
        return NULL;
    const int zeros = (a[0] == 0.0) + (a[1] == 0.0) + (a[2] == 0.0);
    if (zeros == 3)
        return Py_NewRef(x_axis);
    if (zeros == 2 && (a[0] == 1.0 || a[1] == 1.0 || a[2] == 1.0))
        return Py_NewRef(given[0]);
    double largest = fabs(a[0]);
    for (int k = 1; k < 3; k++)
        largest = fabs(a[k]) > largest ? fabs(a[k]) : largest;
    const double factor = isfinite(largest) ? 1.0 / largest : 1.0;
    const double x = a[0] * factor, y = a[1] * factor, z = a[2] * factor, length = sqrt(x * x + y * y + z * z);
    const double unit[3] = {x / length, y / length, z / length};
    return tuple_of(Py_TYPE(x_axis), unit, 3);
}

static PyObject *turned(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double r[9], a[6];
    (void)module;
    if (!fitting(given, count, 2, 2) || numbers(given[0], r, 9) < 0 || numbers(given[1], a, 6) < 0)
        return NULL;
    const double xx = r[0], xy = r[1], xz = r[2], yx = r[3], yy = r[4], yz = r[5], zx = r[6], zy = r[7], zz = r[8];
    const double azz = a[2], axx = a[0] - azz, ayy = a[1] - azz, axy = a[3], axz = a[4], ayz = a[5];
    const double ux = xx * axx + xy * axy + xz * axz, uy = xx * axy + xy * ayy + xz * ayz, uz = xx * axz + xy * ayz;
    const double vx = yx * axx + yy * axy + yz * axz, vy = yx * axy + yy * ayy + yz * ayz, vz = yx * axz + yy * ayz;
    const double sxx = ux * xx + uy * xy + uz * xz, syy = vx * yx + vy * yy + vz * yz, szz = axx + ayy - sxx - syy;
    const double tensor[6] = {sxx + azz,
                              syy + azz,
                              szz + azz,
                              ux * yx + uy * yy + uz * yz,
                              ux * zx + uy * zy + uz * zz,
                              vx * zx + vy * zy + vz * zz};
    return tuple_of(Py_TYPE(PyTuple_GET_ITEM(no_inertia, 2)), tensor, 6);
}

static PyObject *rigid_inertia(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double mass, c[3], i[6];
    (void)module;
    if (!fitting(given, count, 3, 2) || number(given[0], &mass) < 0 || numbers(given[1], c, 3) < 0 ||
        numbers(given[2], i, 6) < 0)
        return NULL;
    const double x = c[0], y = c[1], z = c[2], hx = x * mass, hy = y * mass, hz = z * mass;
    const double sx = x * hx, sy = y * hy, sz = z * hz;
    const double first[3] = {0.0 + hx, 0.0 + hy, 0.0 + hz}; /* zeros are positive */
    const double moment[6] = {0.0 + (i[0] + (sy + sz)), 0.0 + (i[1] + (sx + sz)), 0.0 + (i[2] + (sx + sy)),
                              0.0 + (i[3] - x * hy),    0.0 + (i[4] - x * hz),    0.0 + (i[5] - y * hz)};
    PyObject *parts[3] = {PyFloat_FromDouble(0.0 + mass), tuple_of(Py_TYPE(x_axis), first, 3),
                          tuple_of(Py_TYPE(PyTuple_GET_ITEM(no_inertia, 2)), moment, 6)};
    return put_together(Py_TYPE(no_inertia), parts, 3);
}

/* ---- judgements -------------------------------------------------------------------------------------------------- */

static PyObject *least_moment(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    double mass, c[3], i[6], reach, low, high;
    (void)module;
    if (!fitting(given, count, 6, 0) || number(given[0], &mass) < 0 || numbers(given[1], c, 3) < 0 ||
        numbers(given[2], i, 6) < 0 || number(given[3], &reach) < 0 || number(given[4], &low) < 0 ||
        number(given[5], &high) < 0)
        return NULL;
    const double x = c[0], y = c[1], z = c[2], xx = i[0], yy = i[1], zz = i[2], xy = i[3], xz = i[4], yz = i[5];
    const double t = xx + yy + zz, jx = 0.5 * t - xx, jy = 0.5 * t - yy, jz = 0.5 * t - zz;
    const double minor = jx * jy - xy * xy, products = 2.0 * xy * xz * yz, largest = high * mass;
    if (!(mass > 0.0 && jx > 0.0 && minor > 0.0 && jz * minor - products > jy * xz * xz + jx * yz * yz &&
          (x * x + y * y + z * z) * mass < reach * mass && low * mass < t && t < largest && largest < HUGE_VAL))
        return PyFloat_FromDouble(0.0);
    const double determinant = xx * yy * zz + products - xx * yz * yz - yy * xz * xz - zz * xy * xy;
    return PyFloat_FromDouble(4.0 * determinant / (t * t));
}

/* Whether all numbers in tuples and lists are finite, and none below a bound; None is none. -1 is an exception. */
static int all_finite(PyObject *given, double least, int depth)
{
    if (PyFloat_CheckExact(given))
        return isfinite(PyFloat_AS_DOUBLE(given)) && PyFloat_AS_DOUBLE(given) >= least;
    if (given == Py_None)
        return 1;
    if (!PyTuple_Check(given) && !PyList_CheckExact(given)) {
        double value;
        return number(given, &value) < 0 ? -1 : isfinite(value) && value >= least;
    }
    int fine = depth > 0;
    for (Py_ssize_t k = 0; fine == 1 && k < PySequence_Fast_GET_SIZE(given); k++) {
        PyObject *one = Py_NewRef(PySequence_Fast_GET_ITEM(given, k)); /* what runs may take it out of a list */
        fine = all_finite(one, least, depth - 1);
        Py_DECREF(one);
    }
    return fine;
}

static PyObject *judged(PyObject *const *given, Py_ssize_t count, double least)
{
    int fine = 1;
    for (Py_ssize_t k = 0; fine == 1 && k < count; k++)
        fine = all_finite(given[k], least, 4);
    return fine < 0 ? NULL : PyBool_FromLong(fine);
}

static PyObject *judged_finite(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    return judged(given, count, -HUGE_VAL);
}

static PyObject *judged_not_negative(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    return judged(given, count, 0.0);
}

#define NAMED(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, "See spatial/constants.py."}
#define FUNCTION(name) NAMED(#name, name)
PyMethodDef constant_functions[] = {
    FUNCTION(know),          FUNCTION(snapped),      FUNCTION(rotation_of),          FUNCTION(placed),
    FUNCTION(unit_axis),     FUNCTION(turned),       FUNCTION(rigid_inertia),        FUNCTION(least_moment),
    NAMED("finite", judged_finite), NAMED("not_negative", judged_not_negative), {NULL, NULL, 0, NULL}};
