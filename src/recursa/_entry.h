/* What the files of the extension share. */
#ifndef RECURSA_ENTRY_H
#define RECURSA_ENTRY_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL recursa_entry_array_api
#include <Python.h>
#include <numpy/arrayobject.h>

#define MAX_QUATERNIONS 16
#define MAX_INPUTS 8

/* How one argument of a single state is read: numbers in a plain array, a list or a tuple, by name, or as wrenches. */
typedef struct {
    PyObject_HEAD
    int ndim; /* one, or two for a matrix, which is read from arrays and wrenches only */
    npy_intp dims[2];
    npy_intp size;     /* numbers of the argument */
    npy_intp room;     /* numbers that reading it may write */
    PyObject *places;  /* NULL, or a dictionary: (start, count) of joints, the rows of links */
    PyObject *neutral; /* NULL, or an array: what joints that are not named have */
    int quaternions;
    npy_intp starts[MAX_QUATERNIONS];
    PyObject *wrench;  /* NULL, or the class of wrenches */
    PyObject *entries; /* NULL, or a dictionary that may hold the entry for the poses of all links */
    PyObject *poses;   /* under this key */
} Input;

extern PyTypeObject InputType, EntryType, MethodType;

int inputs_prepare(void); /* -1 with an exception */
int methods_prepare(void);

/* The coordinates of a state, which wrenches in world axes depend on. */
typedef struct {
    const double *q;
    npy_intp nq;
} State;

/* The numbers of an argument: where they are, or in ``room``. NULL, without an exception, for what is not plain. No
 * Python code runs meanwhile. */
const double *input_numbers(const Input *self, PyObject *given, double *room, const State *state);

/* The result of an entry of coordinates alone; 0 if this is none, or has other sizes. */
int entry_evaluate(PyObject *entry, const State *state, double *result, npy_intp count);

/* The result of an entry for one state, in ``given`` if that is not NULL; or NotImplemented. */
PyObject *entry_answer(PyObject *entry, PyObject *const *args, Py_ssize_t count, PyObject *given);

int is_out(PyObject *name);

#endif
