/* Batches of states straight into compiled code: arrays whose leading axes are all the same in, a new array (or the
 * caller's) out. Anything else is answered with NotImplemented. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <string.h>

#define MAX_NUMBERS (NPY_MAX_INTP / (npy_intp)sizeof(double))

typedef struct {
    int ndim; /* leading axes */
    const npy_intp *dims;
    npy_intp states;
    const double *in[MAX_INPUTS];
} Batch;

/* Whether an array is as one state's, behind the leading axes of the batch. */
static int fits(PyArrayObject *array, const Batch *batch, int ndim, const npy_intp *dims)
{
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != batch->ndim + ndim || !PyArray_ISCARRAY_RO(array))
        return 0;
    const npy_intp *own = PyArray_DIMS(array);
    return memcmp(own, batch->dims, (size_t)batch->ndim * sizeof *own) == 0 &&
           memcmp(own + batch->ndim, dims, (size_t)ndim * sizeof *own) == 0;
}

static int quaternions_are_sound(const Input *input, const double *numbers, npy_intp states)
{
    for (npy_intp i = 0; input->quaternions > 0 && i < states; i++)
        if (!input_is_sound(input, numbers + i * input->size))
            return 0;
    return 1;
}

static int read_batch(const Entry *self, PyObject *const *args, Batch *batch)
{
    if (!PyArray_CheckExact(args[self->from[0]]))
        return 0;
    PyArrayObject *first = (PyArrayObject *)args[self->from[0]];
    batch->ndim = PyArray_NDIM(first) - self->input[0]->ndim;
    if (batch->ndim < 1 || batch->ndim + self->ndim > NPY_MAXDIMS)
        return 0;
    batch->dims = PyArray_DIMS(first);
    batch->states = product(batch->dims, batch->ndim);
    if (batch->states < 2 || self->count > MAX_NUMBERS / batch->states)
        return 0;
    for (int i = 0; i < self->inputs; i++) {
        const Input *input = self->input[i];
        PyArrayObject *array = (PyArrayObject *)args[self->from[i]];
        if (!PyArray_CheckExact((PyObject *)array) || !fits(array, batch, input->ndim, input->dims))
            return 0;
        batch->in[i] = PyArray_DATA(array);
        if (!quaternions_are_sound(input, batch->in[i], batch->states) || is_doubtful(input, batch->in[i]))
            return 0; /* of doubts the first state tells */
    }
    return 1;
}

static PyObject *new_result(const Entry *self, const Batch *batch)
{
    npy_intp dims[NPY_MAXDIMS];
    memcpy(dims, batch->dims, (size_t)batch->ndim * sizeof *dims);
    memcpy(dims + batch->ndim, self->dims, (size_t)self->ndim * sizeof *dims);
    return new_array(batch->ndim + self->ndim, dims, NPY_DOUBLE);
}

static int can_take(const Entry *self, const Batch *batch, PyArrayObject *array)
{
    if (!PyArray_ISWRITEABLE(array) || !fits(array, batch, self->ndim, self->dims))
        return 0;
    for (int i = 0; i < self->inputs; i++)
        if (overlap(PyArray_DATA(array), self->count * batch->states, batch->in[i], self->input[i]->size * batch->states))
            return 0;
    return 1;
}

/* The states behind the last whole block, in a block that is filled up with the last of them. -1: no memory. */
static int run_rest(const Entry *self, const Blocks *of, const Batch *batch, double *out, npy_intp rest)
{
    const npy_intp width = self->wide.width, done = batch->states - rest;
    npy_intp room = width * self->count;
    for (int i = 0; i < self->inputs; i++)
        room += width * self->input[i]->size;
    double *block = PyMem_RawMalloc((size_t)room * sizeof(double));
    if (block == NULL)
        return -1;
    const double *in[MAX_INPUTS];
    double *at = block + width * self->count;
    for (int i = 0; i < self->inputs; i++) {
        npy_intp size = self->input[i]->size;
        in[i] = at;
        for (npy_intp state = 0; state < width; state++, at += size)
            memcpy(at, batch->in[i] + (done + (state < rest ? state : rest - 1)) * size, (size_t)size * sizeof(double));
    }
    int sound = blocks_run(of, in, block, 1);
    memcpy(out + done * self->count, block, (size_t)(rest * self->count) * sizeof(double));
    PyMem_RawFree(block);
    return sound;
}

/* Everybody else may go on meanwhile, but not with the same scratch. */
static int run(Entry *self, const Batch *batch, double *out)
{
    const npy_intp blocks = batch->states / self->wide.width, rest = batch->states % self->wide.width;
    Blocks of = {&self->wide, self->inputs, {0}, self->count, self->count * batch->states, self->judged};
    for (int i = 0; i < self->inputs; i++)
        of.sizes[i] = self->input[i]->size;
    int sound;
    self->working = 1;
    Py_BEGIN_ALLOW_THREADS
    sound = blocks_run(&of, batch->in, out, blocks);
    if (sound > 0 && rest > 0)
        sound = run_rest(self, &of, batch, out, rest);
    Py_END_ALLOW_THREADS
    self->working = 0;
    if (sound < 0)
        PyErr_NoMemory();
    return sound;
}

PyObject *batch_answer(Entry *self, PyObject *const *args, Py_ssize_t count, PyObject *given)
{
    Batch batch;
    if (self->wide.function == NULL || self->working || self->ranked != NULL || self->guard != NULL ||
        count != self->inputs || self->count == 0 || !read_batch(self, args, &batch) ||
        (given != NULL && (!PyArray_CheckExact(given) || !can_take(self, &batch, (PyArrayObject *)given))))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = given != NULL ? Py_NewRef(given) : new_result(self, &batch);
    if (result == NULL)
        return NULL;
    if (run(self, &batch, PyArray_DATA((PyArrayObject *)result)) > 0)
        return result;
    Py_DECREF(result);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}
