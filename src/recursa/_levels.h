/* A step of inverse kinematics with loops over rows and freedoms: _levels.c. */
#ifndef RECURSA_LEVELS_H
#define RECURSA_LEVELS_H

#define MAX_LANES 16

/* What decides a step, and room for what is on the way. Everything has a number per lane for every entry. */
typedef struct {
    npy_intp nv, levels;
    const npy_int64 *ends; /* the number of rows up to the end of each level */
    int posture, looks;
    double least_damping, smallest_row, at_a_limit;
    const double *longest; /* about how far lower levels may go at once */
    double *basis, *projected, *gram, *scaled, *inverse, *right, *rest, *free, *held, *more;
} Levels;

/* Numbers per lane that a step needs on the way, and where they are from now on. */
npy_intp levels_room(npy_intp nv, npy_intp rows);
void levels_place(Levels *of, npy_intp width, npy_intp rows, double *room);

/* The step (nv) for weighted rows (rows, nv) and errors (rows), ordered by level; how far each freedom may go down and up;
 * the way to the posture, if there is one. ``settled``: the square of what the posture moved. */
void levels_step(const Levels *of, npy_intp width, const double *rows, const double *errors, const double *low,
                 const double *high, const double *way, double *step, double *settled);

#endif
