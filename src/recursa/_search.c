/* The search of inverse kinematics: many targets, each from several starts, through compiled steps, one attempt per lane.
 *
 * What becomes of a target depends on its own attempts alone, in their order: the first that leads there counts, whoever
 * ends first. How many are under way at once, and beside whom, is a matter of speed. tests/search_oracle.py has
 * the same in NumPy. */
#define NO_IMPORT_ARRAY
#include "_entry.h"
#include "_levels.h"
#include <math.h>
#include <string.h>

#define MAX_WIDTH MAX_LANES
#define MAX_LEVELS 16
#define TURN 6.283185307179586

typedef struct {
    PyObject_HEAD
    PyObject *owner; /* keeps the machine code and all arrays below alive */
    Code frames, step, distance, downhill; /* a step in one, or else in parts, with loops between them */
    Code parts, after, way;
    Levels levels_of;
    npy_intp width, nq, nv, nf, wanted, posture, rows, levels, starts;
    const double *start;      /* (starts, nq) */
    double *memory, *start_frames; /* per block of starts, as lanes; the first is what was allocated */
    npy_intp singles, angles; /* joints of one freedom: places in q and v; angles without limits: places in q */
    const npy_int64 *single_q, *single_v, *angle;
    int working;
} Search;

/* What one call is about. */
typedef struct {
    const Search *of;
    npy_intp targets, attempts;
    int from_home;
    const double *wanted, *home, *posture, *low, *high, *moving, *moving_q;
    double tolerance[2], scale, patience, most, nearest, posture_steps, share, settled, longest, shorter;
    double *q, *errors, *downhill;
    npy_int64 *told; /* per target: solved, attempts, iterations */
    npy_intp missed; /* how many targets were */
    double *lanes;   /* all that is below */
    double *in[8], *out, *wanted_lanes, *scale_lanes, *far;
    double *held_in[3], *held_out; /* the same for what stands still at the end */
    Levels levels;                 /* with room of its own */
    double *rows, *down, *up, *way, *made; /* for steps in parts */
} Work;

enum { Q, FRAMES, WANTED, LOW, HIGH, MOVING, POSTURE, CONTROL };

/* A target with the lanes that work at it. */
typedef struct {
    npy_intp target, next, won, ended; /* the attempt to start next, the earliest that led there, and how many are over */
    int ranked, nearing;               /* whether starts are in order; whether all failed, and the best is improved */
    npy_intp best;                     /* the attempt that came nearest */
    double misses[MAX_LEVELS];
    double *far, *q, *errors; /* of the starts, < 0 once taken; of the best, or of the one that won */
    npy_int64 *steps;         /* of each attempt */
} Group;

typedef struct {
    Group *group; /* NULL: idle */
    npy_intp attempt, n, level; /* the level that it was at when there was progress, all above it met */
    double least, waited, longest;
    int fresh; /* no step was made yet */
} Lane;

/* The first place of some memory, which has eight numbers more than needed, where vectors of any width may lie. */
static double *aligned(double *memory)
{
    return (double *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
}

static void spread(const Work *w, double *lanes, const double *row, npy_intp count, npy_intp lane)
{
    for (npy_intp i = 0; i < count; i++)
        lanes[i * w->of->width + lane] = row[i];
}

static void collect(const Work *w, double *row, const double *lanes, npy_intp count, npy_intp lane)
{
    for (npy_intp i = 0; i < count; i++)
        row[i] = lanes[i * w->of->width + lane];
}

/* ---- starts ---- */

static void rank_starts(Work *w, Group *group)
{
    const Search *of = w->of;
    for (npy_intp lane = 0; lane < of->width; lane++)
        spread(w, w->wanted_lanes, w->wanted + group->target * of->wanted, of->wanted, lane);
    for (npy_intp block = 0; block < of->starts / of->width; block++) {
        const double *const in[] = {of->start_frames + block * of->nf * of->width, w->wanted_lanes, w->scale_lanes};
        code_call(&of->distance, 3, 1, in, w->far);
        for (npy_intp lane = 0; lane < of->width; lane++) {
            double far = w->far[lane];
            group->far[block * of->width + lane] = far >= 0.0 ? far : INFINITY;
        }
    }
    group->ranked = 1;
}

/* The nearest start that was not taken; the first of equals. */
static npy_intp nearest_start(Group *group, npy_intp starts)
{
    npy_intp found = -1;
    for (npy_intp i = 0; i < starts; i++)
        if (group->far[i] >= 0.0 && (found < 0 || group->far[i] < group->far[found]))
            found = i;
    group->far[found] = -1.0;
    return found;
}

/* The coordinates at which an attempt starts, inside the limits. */
static void put_start(Work *w, Group *group, npy_intp attempt, npy_intp lane)
{
    const Search *of = w->of;
    const double *home = w->home + group->target * of->nq, *start = home;
    double *q = w->in[Q];
    if (!(w->from_home && attempt == 0)) {
        if (!group->ranked)
            rank_starts(w, group);
        start = of->start + nearest_start(group, of->starts) * of->nq;
    }
    for (npy_intp i = 0; i < of->nq; i++)
        q[i * of->width + lane] = w->moving_q[i] != 0.0 ? start[i] : home[i];
    for (npy_intp i = 0; i < of->singles; i++) {
        double *x = q + of->single_q[i] * of->width + lane, low = w->low[of->single_v[i]], high = w->high[of->single_v[i]];
        *x = *x < low ? low : *x > high ? high : *x;
    }
}

/* ---- targets and attempts ---- */

static void open_target(Work *w, Group *group, npy_intp target)
{
    group->target = target;
    group->next = group->ended = group->best = 0;
    group->won = -1;
    group->ranked = group->nearing = 0;
    for (npy_intp i = 0; i < w->of->levels; i++)
        group->misses[i] = INFINITY;
    memcpy(group->q, w->home + target * w->of->nq, (size_t)w->of->nq * sizeof(double));
    for (npy_intp i = 0; i < w->of->rows; i++)
        group->errors[i] = INFINITY;
}

static void begin(Work *w, Lane *lanes, npy_intp lane, Group *group, npy_intp attempt)
{
    const Search *of = w->of;
    lanes[lane] = (Lane){group, attempt, 0, 0, INFINITY, 0.0, w->longest, 1};
    spread(w, w->in[WANTED], w->wanted + group->target * of->wanted, of->wanted, lane);
    spread(w, w->in[POSTURE], w->posture + group->target * of->posture, of->posture, lane);
}

/* An idle lane of a group starts the next attempt, if there is one to be started. */
static void start_attempt(Work *w, Lane *lanes, npy_intp lane, Group *group)
{
    if (group->won >= 0 || group->nearing || group->next >= w->attempts)
        return;
    npy_intp attempt = group->next++;
    group->steps[attempt] = 0;
    put_start(w, group, attempt, lane);
    begin(w, lanes, lane, group, attempt);
}

/* Whether the misses of an attempt are less than those of the best so far, level by level; of equals the earlier one. */
static int is_better(const Group *group, const double *misses, npy_intp levels, npy_intp attempt)
{
    for (npy_intp i = 0; i < levels; i++) {
        if (misses[i] < group->misses[i])
            return 1;
        if (!(misses[i] <= group->misses[i]))
            return 0;
    }
    return attempt < group->best;
}

static void keep(Work *w, Group *group, npy_intp attempt, npy_intp lane, const double *misses)
{
    const Search *of = w->of;
    group->best = attempt;
    memcpy(group->misses, misses, (size_t)of->levels * sizeof(double));
    collect(w, group->q, w->in[Q], of->nq, lane);
    collect(w, group->errors, w->out + of->nq * of->width, of->rows, lane);
}

static void write_target(Work *w, Group *group)
{
    const Search *of = w->of;
    npy_intp target = group->target;
    int solved = group->won >= 0;
    double *q = w->q + target * of->nq;
    npy_int64 steps = 0, last = solved && !group->nearing ? group->won + 1 : group->next;
    for (npy_int64 i = 0; i < last; i++)
        steps += group->steps[i];
    if (group->nearing)
        steps += group->steps[w->attempts];
    memcpy(q, group->q, (size_t)of->nq * sizeof(double));
    memcpy(w->errors + target * of->rows, group->errors, (size_t)of->rows * sizeof(double));
    for (npy_intp i = 0; i < of->angles; i++)
        q[of->angle[i]] -= TURN * nearbyint(q[of->angle[i]] / TURN);
    npy_int64 told[] = {solved, group->nearing ? group->next : group->best + 1, steps};
    memcpy(w->told + 3 * target, told, sizeof told);
    if (solved)
        return;
    w->missed++;
    spread(w, w->held_in[0], q, of->nq, 0);
    const double *const at[] = {w->held_in[0]};
    code_call(&of->frames, 1, 1, at, w->held_in[1]);
    spread(w, w->held_in[2], w->wanted + target * of->wanted, of->wanted, 0);
    const double *const in[] = {w->held_in[1], w->held_in[2], w->in[MOVING]};
    code_call(&of->downhill, 3, 1, in, w->held_out);
    collect(w, w->downhill + target * of->nv, w->held_out, of->nv, 0);
}

/* One more step was made from where a lane is: whether that is the end of its attempt, and what it means for its target. */
static int judge(Work *w, Lane *lane, npy_intp number)
{
    const Search *of = w->of;
    Group *group = lane->group;
    const double *told = w->out + (of->nq + of->rows) * of->width;
    double misses[MAX_LEVELS], settled = told[of->levels * of->width + number];
    npy_intp level = 0;
    for (npy_intp i = 0; i < of->levels; i++) {
        misses[i] = told[i * of->width + number];
        level += level == i && misses[i] == 0.0;
    }
    int there = level == of->levels, nearing = group->nearing;
    int settling = of->posture > 0 && (double)lane->n < w->posture_steps;
    lane->n++;
    lane->longest *= w->shorter;
    group->steps[nearing ? w->attempts : lane->attempt] = lane->n;
    if (there && (!settling || settled <= w->settled)) {
        if (nearing || group->won < 0 || lane->attempt < group->won) {
            group->won = nearing ? group->best : lane->attempt;
            keep(w, group, group->won, number, misses);
        }
        return 1;
    }
    if (there)
        lane->waited = 0.0;
    else if (level > lane->level || (level == lane->level && misses[level] < 0.75 * lane->least)) {
        lane->level = level;
        lane->least = misses[level];
        lane->waited = 0.0;
    } else
        lane->waited += 1.0;
    double most = (nearing ? w->nearest : w->most) + (of->posture > 0 ? w->posture_steps : 0.0);
    if ((double)lane->n < most && (nearing || !(lane->waited > w->patience)))
        return 0;
    if (group->won < 0 && is_better(group, misses, of->levels, nearing ? group->best : lane->attempt))
        keep(w, group, nearing ? group->best : lane->attempt, number, misses);
    return 1;
}

/* Whether all is known of a target. Where every attempt has failed, the best goes on in this lane. */
static int is_decided(Work *w, Lane *lanes, npy_intp number, Group *group)
{
    if (group->nearing)
        return 1;
    for (npy_intp i = 0; i < w->of->width; i++)
        if (lanes[i].group == group && (group->won < 0 || lanes[i].attempt < group->won))
            return 0;
    if (group->won >= 0)
        return 1;
    if (group->next < w->attempts)
        return 0;
    group->nearing = 1;
    group->steps[w->attempts] = 0;
    for (npy_intp i = 0; i < w->of->nq; i++) /* starting at home if nothing came of anything */
        w->in[Q][i * w->of->width + number] = group->q[i];
    begin(w, lanes, number, group, group->best);
    return 0;
}

/* ---- the loop ---- */

/* The same as the compiled step, for what would be too long. */
static void step_in_parts(Work *w)
{
    const Search *of = w->of;
    const npy_intp width = of->width;
    double *const *in = w->in, *const errors = w->rows, *const weighted = errors + of->rows * width;
    const double *const parts[] = {in[FRAMES], in[WANTED], in[MOVING]};
    code_call(&of->parts, 3, 1, parts, w->rows);
    if (of->posture > 0) {
        const double *const way[] = {in[Q], in[POSTURE], in[MOVING], in[CONTROL]};
        code_call(&of->way, 4, 1, way, w->way);
    }
    for (npy_intp i = 0; i < of->singles; i++)
        for (npy_intp lane = 0; lane < width; lane++) {
            npy_intp v = of->single_v[i] * width + lane;
            double q = in[Q][of->single_q[i] * width + lane];
            w->down[v] = in[LOW][v] - q;
            w->up[v] = in[HIGH][v] - q;
        }
    double *settled = w->out + (of->nq + of->rows + of->levels) * width;
    levels_step(&w->levels, width, weighted + of->rows * width, weighted, w->down, w->up, w->way, w->made, settled);
    const double *const after[] = {in[Q], w->made, errors, in[WANTED], in[LOW], in[HIGH], in[CONTROL]};
    code_call(&of->after, 7, 1, after, w->out);
}

static void one_step(Work *w, Lane *lanes)
{
    const Search *of = w->of;
    const double *const at[] = {w->in[Q]};
    for (npy_intp i = 0; i < of->width; i++) {
        w->in[CONTROL][2 * of->width + i] = (double)lanes[i].n < w->posture_steps ? w->share : 0.0;
        w->in[CONTROL][3 * of->width + i] = lanes[i].longest;
    }
    code_call(&of->frames, 1, 1, at, w->in[FRAMES]);
    if (of->step.function != NULL)
        code_call(&of->step, 8, 1, (const double *const *)w->in, w->out);
    else
        step_in_parts(w);
}

static void run(Work *w, Group *groups, npy_intp count)
{
    const Search *of = w->of;
    Lane lanes[MAX_WIDTH] = {{0}};
    Group *mine[MAX_WIDTH];
    npy_intp next = 0, open = 0;
    for (npy_intp i = 0; i < count; i++, open++)
        open_target(w, &groups[i], next++);
    for (npy_intp i = 0; i < of->width; i++) {
        mine[i] = &groups[i % count];
        start_attempt(w, lanes, i, mine[i]);
    }
    while (open > 0) {
        for (npy_intp i = 0; i < of->width; i++)
            lanes[i].fresh = 0;
        one_step(w, lanes);
        for (npy_intp i = 0; i < of->width; i++) {
            Group *group = lanes[i].group;
            if (group == NULL || lanes[i].fresh)
                continue;
            if (!judge(w, &lanes[i], i)) {
                for (npy_intp j = 0; j < of->nq; j++)
                    w->in[Q][j * of->width + i] = w->out[j * of->width + i];
                continue;
            }
            lanes[i].group = NULL;
            start_attempt(w, lanes, i, group);
            if (lanes[i].group != NULL || !is_decided(w, lanes, i, group))
                continue;
            write_target(w, group);
            for (npy_intp j = 0; j < of->width; j++)
                if (lanes[j].group == group)
                    lanes[j].group = NULL;
            if (next >= w->targets) {
                open--;
                continue;
            }
            open_target(w, group, next++);
            for (npy_intp j = 0; j < of->width; j++)
                if (mine[j] == group)
                    start_attempt(w, lanes, j, group);
        }
    }
}

/* Room for everything, as lanes that are aligned; 0 if there is no memory. */
static int with_room(Work *w)
{
    const Search *of = w->of;
    const npy_intp width = of->width;
    npy_intp groups = w->targets < width ? w->targets : width;
    const int in_parts = of->step.function == NULL;
    npy_intp sizes[] = {of->nq, of->nf, of->wanted, of->nv, of->nv, of->nv, of->posture, 4,
                        of->nq + of->rows + of->levels + 1, of->wanted, 1, 1, of->nq, of->nf, of->wanted, of->nv,
                        in_parts ? of->rows * (of->nv + 2) : 0, in_parts ? of->nv : 0, in_parts ? of->nv : 0,
                        in_parts ? of->nv : 0, in_parts ? of->nv : 0, in_parts ? levels_room(of->nv, of->rows) : 0};
    double *room_of_levels;
    double **places[] = {&w->in[0], &w->in[1], &w->in[2], &w->in[3], &w->in[4], &w->in[5], &w->in[6], &w->in[7], &w->out,
                         &w->wanted_lanes, &w->scale_lanes, &w->far, &w->held_in[0], &w->held_in[1], &w->held_in[2],
                         &w->held_out, &w->rows, &w->down, &w->up, &w->way, &w->made, &room_of_levels};
    const npy_intp kinds = (npy_intp)(sizeof sizes / sizeof *sizes), each = of->starts + of->nq + of->rows;
    npy_intp room = 8;
    for (npy_intp i = 0; i < kinds; i++)
        room += (sizes[i] + 1) * width;
    npy_intp own = groups * (each + w->attempts + 1);
    double *memory = PyMem_RawCalloc((size_t)(room + own), sizeof(double));
    Group *group = PyMem_RawCalloc((size_t)groups, sizeof(Group));
    if (memory == NULL || group == NULL) {
        PyMem_RawFree(memory);
        PyMem_RawFree(group);
        return 0;
    }
    double *at = aligned(memory);
    for (npy_intp i = 0; i < kinds; at += (sizes[i] + 1) * width, i++)
        *places[i] = at;
    for (npy_intp i = 0; i < width; i++) {
        spread(w, w->in[LOW], w->low, of->nv, i);
        spread(w, w->in[HIGH], w->high, of->nv, i);
        spread(w, w->in[MOVING], w->moving, of->nv, i);
        spread(w, w->in[CONTROL], w->tolerance, 2, i);
        w->scale_lanes[i] = w->scale;
    }
    if (in_parts) {
        w->levels = of->levels_of;
        levels_place(&w->levels, width, of->rows, room_of_levels);
        w->levels.longest = w->in[CONTROL] + 3 * width;
        for (npy_intp i = 0; i < of->nv * width; i++) /* joints of several freedoms have no limits */
            w->down[i] = -INFINITY, w->up[i] = INFINITY;
    }
    for (npy_intp i = 0; i < groups; i++) {
        group[i].far = at;
        group[i].q = at + of->starts;
        group[i].errors = group[i].q + of->nq;
        at += each;
    }
    for (npy_intp i = 0; i < groups; i++, at += w->attempts + 1)
        group[i].steps = (npy_int64 *)at;
    run(w, group, groups);
    PyMem_RawFree(memory);
    PyMem_RawFree(group);
    return 1;
}

/* ---- from Python ---- */

static const double *doubles(PyArrayObject *array, npy_intp count)
{
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array) || PyArray_SIZE(array) != count) {
        PyErr_SetString(PyExc_ValueError, "search: an array has another size or type than it should");
        return NULL;
    }
    return PyArray_DATA(array);
}

/* search(wanted, home, posture, ranges, moving_q, settings, attempts, from_home, q, errors, downhill, told): fills the last
 * four, a row per target, and returns how many were missed. One thread at a time. */
static PyObject *search_call(PyObject *self, PyObject *args, PyObject *names)
{
    Search *of = (Search *)self;
    PyArrayObject *x[10];
    Work w = {.of = of};
    (void)names;
    PyTypeObject *array = &PyArray_Type;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!npO!O!O!O!", array, &x[0], array, &x[1], array, &x[2], array, &x[3], array,
                          &x[4], array, &x[5], &w.attempts, &w.from_home, array, &x[6], array, &x[7], array, &x[8], array,
                          &x[9]))
        return NULL;
    if (of->working) {
        PyErr_SetString(PyExc_RuntimeError, "search: it is at work in another thread");
        return NULL;
    }
    w.targets = PyArray_NDIM(x[0]) == 2 ? PyArray_DIM(x[0], 0) : 0;
    const double *ranges = doubles(x[3], 3 * of->nv), *settings = doubles(x[5], 11);
    w.wanted = doubles(x[0], w.targets * of->wanted);
    w.home = doubles(x[1], w.targets * of->nq);
    w.posture = doubles(x[2], w.targets * of->posture);
    w.moving_q = doubles(x[4], of->nq);
    w.q = (double *)doubles(x[6], w.targets * of->nq);
    w.errors = (double *)doubles(x[7], w.targets * of->rows);
    w.downhill = (double *)doubles(x[8], w.targets * of->nv);
    if (PyErr_Occurred())
        return NULL;
    if (w.attempts < 1 || w.attempts > of->starts || PyArray_TYPE(x[9]) != NPY_INT64 || !PyArray_ISCARRAY(x[9]) ||
        PyArray_SIZE(x[9]) != 3 * w.targets || !PyArray_ISWRITEABLE(x[6]) || !PyArray_ISWRITEABLE(x[7]) ||
        !PyArray_ISWRITEABLE(x[8])) {
        PyErr_SetString(PyExc_ValueError, "search: results need arrays to be written to, and attempts starts");
        return NULL;
    }
    w.told = PyArray_DATA(x[9]);
    w.low = ranges;
    w.high = ranges + of->nv;
    w.moving = ranges + 2 * of->nv;
    w.tolerance[0] = settings[0];
    w.tolerance[1] = settings[1];
    w.scale = settings[2];
    w.patience = settings[3];
    w.most = settings[4];
    w.nearest = settings[5];
    w.posture_steps = settings[6];
    w.share = settings[7];
    w.settled = settings[8];
    w.longest = settings[9];
    w.shorter = settings[10];
    if (w.targets == 0)
        return PyLong_FromLong(0);
    int done;
    of->working = 1;
    Py_BEGIN_ALLOW_THREADS
    done = with_room(&w);
    Py_END_ALLOW_THREADS
    of->working = 0;
    if (!done)
        return PyErr_NoMemory();
    return PyLong_FromSsize_t(w.missed);
}

static const npy_int64 *integers(PyObject *given, npy_intp *count, npy_intp below)
{
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(array) != NPY_INT64 || !PyArray_ISCARRAY_RO(array))
        return NULL;
    *count = PyArray_SIZE(array);
    const npy_int64 *found = PyArray_DATA(array);
    for (npy_intp i = 0; i < *count; i++)
        if (found[i] < 0 || found[i] >= below)
            return NULL;
    return found;
}

static int prepare_starts(Search *of)
{
    const npy_intp width = of->width, size = of->nf * width;
    double *lanes = PyMem_RawCalloc((size_t)(of->nq * width + 8), sizeof(double));
    of->memory = PyMem_RawCalloc((size_t)(of->starts / width * size + 8), sizeof(double));
    if (lanes == NULL || of->memory == NULL) {
        PyMem_RawFree(lanes);
        PyErr_NoMemory();
        return -1;
    }
    double *q = aligned(lanes);
    of->start_frames = aligned(of->memory);
    for (npy_intp block = 0; block < of->starts / width; block++) {
        for (npy_intp lane = 0; lane < width; lane++)
            for (npy_intp i = 0; i < of->nq; i++)
                q[i * width + lane] = of->start[(block * width + lane) * of->nq + i];
        const double *const in[] = {q};
        code_call(&of->frames, 1, 1, in, of->start_frames + block * size);
    }
    PyMem_RawFree(lanes);
    return 0;
}

/* Search(owner, codes, sizes, starts, single_q, single_v, angles, ends, algebra): ``codes`` of frames, step, distance,
 * downhill, parts, after, way, for inputs that lie as lanes, None where there is none; ``sizes``: nq, nv, numbers of frames,
 * of what is wanted and of the posture, rows, levels; ``ends``: rows up to the end of each level; ``algebra``: least damping,
 * smallest row, what is at a limit, and looks. */
static PyObject *search_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *owner, *codes[7], *single_q, *single_v, *angles, *ends;
    PyArrayObject *starts;
    npy_intp sizes[7], again = 0, levels = 0;
    Levels of = {0};
    (void)names;
    if (!PyArg_ParseTuple(args, "O(OOOOOOO)(nnnnnnn)O!OOOO(dddi)", &owner, &codes[0], &codes[1], &codes[2], &codes[3],
                          &codes[4], &codes[5], &codes[6], &sizes[0], &sizes[1], &sizes[2], &sizes[3], &sizes[4],
                          &sizes[5], &sizes[6], &PyArray_Type, &starts, &single_q, &single_v, &angles, &ends,
                          &of.least_damping, &of.smallest_row, &of.at_a_limit, &of.looks))
        return NULL;
    Search *self = (Search *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->owner = PyTuple_Pack(6, owner, starts, single_q, single_v, angles, ends);
    self->nq = sizes[0], self->nv = sizes[1], self->nf = sizes[2], self->wanted = sizes[3], self->posture = sizes[4];
    self->rows = sizes[5], self->levels = sizes[6];
    Code *const own[] = {&self->frames, &self->step, &self->distance, &self->downhill, &self->parts, &self->after,
                         &self->way};
    int sound = self->owner != NULL && self->levels >= 1 && self->levels <= MAX_LEVELS;
    for (int i = 0; i < 7 && sound; i++)
        sound = read_code(own[i], codes[i]) && (own[i]->function == NULL || own[i]->width == own[0]->width);
    sound = sound && self->frames.function != NULL && self->distance.function != NULL && self->downhill.function != NULL &&
            (self->step.function != NULL || (self->parts.function != NULL && self->after.function != NULL &&
                                             (self->posture == 0 || self->way.function != NULL)));
    self->width = self->frames.width;
    sound = sound && self->width <= MAX_WIDTH && PyArray_NDIM(starts) == 2 && PyArray_DIM(starts, 1) == self->nq &&
            PyArray_TYPE(starts) == NPY_DOUBLE && PyArray_ISCARRAY_RO(starts) && PyArray_DIM(starts, 0) % self->width == 0;
    if (sound) {
        self->starts = PyArray_DIM(starts, 0);
        self->start = PyArray_DATA(starts);
        self->single_q = integers(single_q, &self->singles, self->nq);
        self->single_v = integers(single_v, &again, self->nv);
        self->angle = integers(angles, &self->angles, self->nq);
        of.nv = self->nv;
        of.levels = self->levels;
        of.posture = self->posture > 0;
        of.ends = integers(ends, &levels, self->rows + 1);
        self->levels_of = of;
        sound = self->single_q != NULL && self->single_v != NULL && self->angle != NULL && again == self->singles &&
                of.ends != NULL && levels == self->levels && of.ends[levels - 1] == self->rows;
    }
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "Search: codes, sizes and starts do not fit together");
        Py_DECREF(self);
        return NULL;
    }
    if (prepare_starts(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void search_free(PyObject *self)
{
    PyMem_RawFree(((Search *)self)->memory);
    Py_XDECREF(((Search *)self)->owner);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject SearchType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._entry.Search",
    .tp_doc = "The search of inverse kinematics in compiled code.",
    .tp_basicsize = sizeof(Search),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = search_new,
    .tp_call = search_call,
    .tp_dealloc = search_free,
};
