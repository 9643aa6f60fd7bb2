/* mpirun -n P scalapack [N]: ScaLAPACK's pdgemr2d on the two redistributions of redist.py. ScaLAPACK is
   column-major: its columns are our rows. One JSON object a line, as in common.py; the result is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern void Cblacs_get(int, int, int *);
extern void Cblacs_gridinit(int *, const char *, int, int);
extern void Cblacs_gridinfo(int, int *, int *, int *, int *);
extern int numroc_(const int *, const int *, const int *, const int *, const int *);
extern void descinit_(int *, const int *, const int *, const int *, const int *, const int *, const int *,
                      const int *, const int *, int *);
extern void Cpdgemr2d(int, int, const double *, int, int, const int *, double *, int, int, const int *, int);

enum { REPETITIONS = 7 };

typedef struct {
    int context, rows, columns, block_rows, block_columns, grid_rows, grid_columns, my_row, my_column;
    int desc[9];
} Layout;

static Layout layout(int n, int grid_rows, int grid_columns, int block_rows, int block_columns) {
    Layout l = {0};
    int zero = 0, info;
    Cblacs_get(-1, 0, &l.context);
    Cblacs_gridinit(&l.context, "Row", grid_rows, grid_columns);
    Cblacs_gridinfo(l.context, &l.grid_rows, &l.grid_columns, &l.my_row, &l.my_column);
    l.block_rows = block_rows, l.block_columns = block_columns;
    l.rows = numroc_(&n, &block_rows, &l.my_row, &zero, &grid_rows);
    l.columns = numroc_(&n, &block_columns, &l.my_column, &zero, &grid_columns);
    int leading = l.rows > 0 ? l.rows : 1;
    descinit_(l.desc, &n, &n, &block_rows, &block_columns, &zero, &zero, &l.context, &leading, &info);
    return l;
}

static int global(int local, int block, int mine, int grid) {
    return (local / block * grid + mine) * block + local % block;
}

static double value(const Layout *l, int n, int i, int j) {
    return (double)global(j, l->block_columns, l->my_column, l->grid_columns) * n +
           global(i, l->block_rows, l->my_row, l->grid_rows);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(const char *name, int n, Layout from, Layout to, int rank, int size) {
    double *source = malloc(sizeof(double) * ((size_t)from.rows * from.columns + 1));
    double *target = calloc((size_t)to.rows * to.columns + 1, sizeof(double));
    for (int j = 0; j < from.columns; j++)
        for (int i = 0; i < from.rows; i++) source[(size_t)j * from.rows + i] = value(&from, n, i, j);
    double times[REPETITIONS];
    for (int repetition = -1; repetition < REPETITIONS; repetition++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), end, first, last;
        Cpdgemr2d(n, n, source, 1, 1, from.desc, target, 1, 1, to.desc, from.context);
        end = MPI_Wtime();
        MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (repetition >= 0) times[repetition] = last - first;
    }
    int ok = 1, all_ok;
    for (int j = 0; j < to.columns; j++)
        for (int i = 0; i < to.rows; i++) ok &= target[(size_t)j * to.rows + i] == value(&to, n, i, j);
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    qsort(times, REPETITIONS, sizeof(double), ascending);
    if (rank == 0)
        printf("{\"group\": \"redist\", \"case\": \"%s\", \"peer\": \"ScaLAPACK pdgemr2d\", \"median_ns\": %.1f, "
               "\"bytes\": %ld, \"ranks\": %d, \"correct\": %s}\n",
               name, times[REPETITIONS / 2] * 1e9, 8L * n * n, size, all_ok ? "true" : "false");
    free(source);
    free(target);
}

int main(int argc, char **argv) {
    int rank, size, n = argc > 1 ? atoi(argv[1]) : 4096;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int p = size > 2 && size % 2 == 0 ? 2 : 1, q = size / p;
    run("rows_to_columns", n, layout(n, 1, size, n, n / size), layout(n, size, 1, n / size, n), rank, size);
    run("block_to_block_cyclic_64", n, layout(n, p, q, n / p, n / q), layout(n, p, q, 64, 64), rank, size);
    MPI_Finalize();
    return 0;
}
