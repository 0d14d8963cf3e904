/* Arrays of any layout straight into compiled code, for any number of states: in double or single precision, with leading
 * axes that broadcast, as lists, not contiguous. What can be read where it is, is; the rest is copied. Whatever is left over is
 * answered with NotImplemented. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include <string.h>

#define MAX_NUMBERS (NPY_MAX_INTP / (npy_intp)sizeof(double))
#define MAX_GUARDED 256  /* states whose guard is asked one by one */
#define SERIAL_ROWS 4096 /* fewer states are not worth a second thread (kernel.py) */

typedef struct {
    int ndim; /* leading axes */
    npy_intp dims[NPY_MAXDIMS];
    npy_intp states;
    int type; /* NPY_DOUBLE or NPY_FLOAT */
    size_t item;
    PyArrayObject *arrays[MAX_INPUTS]; /* owned */
    const char *in[MAX_INPUTS];
} Batch;

static void release(const Entry *self, Batch *batch)
{
    for (int i = 0; i < self->inputs; i++)
        Py_CLEAR(batch->arrays[i]);
}

/* A list of states, each a list of numbers; NULL for anything else. */
static PyObject *array_of_rows(const Input *input, PyObject *given)
{
    const npy_intp dims[2] = {PySequence_Fast_GET_SIZE(given), input->size};
    PyObject *array = input->ndim == 1 && dims[0] > 0 ? PyArray_SimpleNew(2, dims, NPY_DOUBLE) : NULL;
    for (npy_intp i = 0; array != NULL && i < dims[0]; i++)
        if (!read_vector(PySequence_Fast_GET_ITEM(given, i), dims[1], PyArray_GETPTR2((PyArrayObject *)array, i, 0)))
            Py_CLEAR(array);
    return array;
}

/* An argument as an array of numbers; NULL without an exception for what is left to Python. */
static PyArrayObject *array_of(const Input *input, PyObject *given)
{
    PyObject *array = NULL;
    if (PyArray_CheckExact(given))
        array = Py_NewRef(given);
    else if (input->wrench == NULL && (PyList_CheckExact(given) || PyTuple_CheckExact(given)))
        if ((array = array_of_rows(input, given)) == NULL)
            array = PyArray_FromAny(given, NULL, 0, 0, 0, NULL);
    PyErr_Clear(); /* the general way says what is wrong with a list */
    if (array == NULL)
        return NULL;
    const int type = PyArray_TYPE((PyArrayObject *)array);
    if (type != NPY_DOUBLE && type != NPY_FLOAT && !PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISBOOL(type))
        Py_CLEAR(array);
    return (PyArrayObject *)array;
}

/* Whether an array ends with the axes of an input; those before are broadcast with those of the batch. */
static int joins(Batch *batch, PyArrayObject *array, const Input *input)
{
    const int leading = PyArray_NDIM(array) - input->ndim;
    const npy_intp *dims = PyArray_DIMS(array);
    if (leading < 0 || leading + MAX_DIMS > NPY_MAXDIMS || memcmp(dims + leading, input->dims, (size_t)input->ndim * sizeof *dims) != 0)
        return 0;
    if (leading > batch->ndim) {
        const int more = leading - batch->ndim;
        memmove(batch->dims + more, batch->dims, (size_t)batch->ndim * sizeof *dims);
        for (int i = 0; i < more; i++)
            batch->dims[i] = 1;
        batch->ndim = leading;
    }
    for (int i = 0; i < leading; i++) {
        npy_intp *own = batch->dims + (batch->ndim - leading + i);
        if (*own == 1)
            *own = dims[i];
        else if (dims[i] != 1 && dims[i] != *own)
            return 0;
    }
    return 1;
}

/* Whether an array is as the batch has it: of its type, with its axes before those of one state. */
static int fits(PyArrayObject *array, const Batch *batch, int ndim, const npy_intp *dims)
{
    if (PyArray_TYPE(array) != batch->type || PyArray_NDIM(array) != batch->ndim + ndim || !PyArray_ISCARRAY_RO(array))
        return 0;
    const npy_intp *own = PyArray_DIMS(array);
    return memcmp(own, batch->dims, (size_t)batch->ndim * sizeof *own) == 0 &&
           memcmp(own + batch->ndim, dims, (size_t)ndim * sizeof *own) == 0;
}

static PyObject *array_for(const Batch *batch, int ndim, const npy_intp *own)
{
    npy_intp dims[NPY_MAXDIMS];
    memcpy(dims, batch->dims, (size_t)batch->ndim * sizeof *dims);
    memcpy(dims + batch->ndim, own, (size_t)ndim * sizeof *dims);
    return new_array(batch->ndim + ndim, dims, batch->type);
}

/* The data of an input as rows, copied if need be; 0 where there is no memory for that, as the general way will say. */
static int spread(Batch *batch, int i, const Input *input)
{
    if (!fits(batch->arrays[i], batch, input->ndim, input->dims)) {
        PyArrayObject *copy = (PyArrayObject *)array_for(batch, input->ndim, input->dims);
        if (copy == NULL || PyArray_CopyInto(copy, batch->arrays[i]) < 0) {
            Py_XDECREF((PyObject *)copy);
            PyErr_Clear();
            return 0;
        }
        Py_SETREF(batch->arrays[i], copy);
    }
    batch->in[i] = PyArray_BYTES(batch->arrays[i]);
    return 1;
}

/* Reads all arguments; 0 if they are left to Python, where more than one of ``threads`` share large batches. */
static int read_batch(Entry *self, PyObject *const *args, long threads, Batch *batch)
{
    int singles = 0;
    for (int i = 0; i < self->inputs; i++) {
        batch->arrays[i] = array_of(self->input[i], args[self->from[i]]);
        if (batch->arrays[i] == NULL || !joins(batch, batch->arrays[i], self->input[i]))
            return 0;
        singles += PyArray_TYPE(batch->arrays[i]) == NPY_FLOAT;
    }
    const int single = singles == self->inputs;
    batch->type = single ? NPY_FLOAT : NPY_DOUBLE;
    batch->item = single ? sizeof(float) : sizeof(double);
    batch->states = product(batch->dims, batch->ndim);
    if (batch->states < 0 || batch->ndim + self->ndim > NPY_MAXDIMS || (threads > 1 && batch->states >= 2 * SERIAL_ROWS))
        return 0;
    if (batch->states > 0 && self->code[single][batch->states > 1].function == NULL) {
        self->lacking = 1;
        return 0;
    }
    for (int i = 0; i < self->inputs; i++)
        if (batch->states > 0 && self->input[i]->size > MAX_NUMBERS / batch->states)
            return 0;
    if (batch->states > 0 && self->count > MAX_NUMBERS / batch->states)
        return 0;
    for (int i = 0; i < self->inputs; i++)
        if (!spread(batch, i, self->input[i]))
            return 0;
    return 1;
}

/* The quaternions of all states, and what is doubtful in the first, which tells. */
static int coordinates_are_sound(const Batch *batch, const Input *input, const char *numbers)
{
    const double tolerance = batch->type == NPY_FLOAT ? 1e-3 : 1e-6;
    for (npy_intp i = 0; input->quaternions > 0 && i < batch->states; i++, numbers += (size_t)input->size * batch->item)
        for (int k = 0; k < input->quaternions; k++) {
            double p[4];
            for (int j = 0; j < 4; j++)
                p[j] = batch->type == NPY_FLOAT ? ((const float *)numbers)[input->starts[k] + j]
                                                : ((const double *)numbers)[input->starts[k] + j];
            if (!is_unit(p, tolerance))
                return 0;
        }
    return 1;
}

static int is_far(const Batch *batch, const Input *input, const char *numbers)
{
    if (batch->type == NPY_DOUBLE)
        return is_doubtful(input, (const double *)numbers);
    const double *bounds = input->bounds == NULL ? NULL : PyArray_DATA((PyArrayObject *)input->bounds);
    for (npy_intp i = 0; bounds != NULL && i < input->size; i++)
        if (fabs((double)((const float *)numbers)[i]) > bounds[i])
            return 1;
    return 0;
}

/* Whether nothing has to be said about the states; a guard is asked for each of a few. */
static int is_sound(const Entry *self, const Batch *batch)
{
    for (int i = 0; i < self->inputs; i++)
        if (!coordinates_are_sound(batch, self->input[i], batch->in[i]) ||
            (batch->states > 0 && is_far(batch, self->input[i], batch->in[i])))
            return 0;
    if (self->guard == NULL)
        return 1;
    if (batch->states > MAX_GUARDED || batch->type != NPY_DOUBLE)
        return 0;
    for (npy_intp state = 0; state < batch->states; state++) {
        const double *in[MAX_INPUTS];
        for (int i = 0; i < self->inputs; i++)
            in[i] = (const double *)batch->in[i] + state * self->input[i]->size;
        if (!is_guarded(self, in))
            return 0;
    }
    return 1;
}

/* Whether a caller's array can take the result as it is; one that shares memory with an input cannot. */
static int can_take(const Entry *self, const Batch *batch, PyArrayObject *array)
{
    const size_t bytes = (size_t)(self->count * batch->states) * batch->item;
    if (!PyArray_ISWRITEABLE(array) || !fits(array, batch, self->ndim, self->dims))
        return 0;
    for (int i = 0; i < self->inputs; i++)
        if (overlap(PyArray_DATA(array), bytes, batch->in[i], (size_t)(self->input[i]->size * batch->states) * batch->item))
            return 0;
    return 1;
}

/* The states behind the last whole block, in a block that is filled up with the last of them. -1: no memory. */
static int run_rest(const Entry *self, const Blocks *of, const Batch *batch, char *out, npy_intp rest)
{
    const npy_intp width = of->code->width, done = batch->states - rest;
    const size_t row = (size_t)self->count * batch->item;
    size_t room = (size_t)width * row;
    for (int i = 0; i < self->inputs; i++)
        room += (size_t)(width * self->input[i]->size) * batch->item;
    char *block = PyMem_RawMalloc(room);
    if (block == NULL)
        return -1;
    const char *in[MAX_INPUTS];
    char *at = block + (size_t)width * row;
    for (int i = 0; i < self->inputs; i++) {
        const size_t size = (size_t)self->input[i]->size * batch->item;
        in[i] = at;
        for (npy_intp state = 0; state < width; state++, at += size)
            memcpy(at, batch->in[i] + (size_t)(done + (state < rest ? state : rest - 1)) * size, size);
    }
    int sound = blocks_run(of, in, block, 1);
    memcpy(out + (size_t)done * row, block, (size_t)rest * row);
    PyMem_RawFree(block);
    return sound;
}

/* Everybody else may go on while a batch is computed, but not with the same scratch. The scratch of one state is guarded by
 * the interpreter's lock. */
static int run(Entry *self, const Batch *batch, char *out)
{
    const Code *code = &self->code[batch->type == NPY_FLOAT][batch->states > 1];
    Blocks of = {code, self->inputs, {0}, self->count, self->count * batch->states, self->judged, batch->item};
    for (int i = 0; i < self->inputs; i++)
        of.sizes[i] = self->input[i]->size;
    if (batch->states == 1)
        return blocks_run(&of, batch->in, out, 1);
    const npy_intp blocks = batch->states / code->width, rest = batch->states % code->width;
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

PyObject *batch_answer(Entry *self, PyObject *const *args, Py_ssize_t count, PyObject *given, long threads)
{
    Batch batch = {.ndim = 0};
    PyObject *result = NULL;
    if (self->ranked != NULL || count != self->inputs || self->count == 0 ||
        (given != NULL && !PyArray_CheckExact(given)))
        Py_RETURN_NOTIMPLEMENTED;
    if (read_batch(self, args, threads, &batch) && is_sound(self, &batch) &&
        (given == NULL || can_take(self, &batch, (PyArrayObject *)given))) {
        result = given != NULL ? Py_NewRef(given) : array_for(&batch, self->ndim, self->dims);
        if (result != NULL && batch.states > 0 && /* from here on no Python code runs in this thread */
            (self->working || run(self, &batch, PyArray_BYTES((PyArrayObject *)result)) <= 0))
            Py_CLEAR(result);
    }
    release(self, &batch);
    return result != NULL || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}
