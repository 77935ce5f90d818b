/* What Open MPI's own MPI_Allreduce and MPI_Alltoall take, timed as ncclbench times backend `host`:
 * out of place, float sum, one untimed operation, a barrier, N operations back to back, mean over ranks.
 *
 *   mpicc -O2 -o open_mpi benches/open_mpi.c && mpirun -n 4 --oversubscribe ./open_mpi ITERATIONS BYTES...
 *
 * Prints one line a size and collective: name, bytes, microseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *data(size_t bytes) {
  float *buffer = malloc(bytes);
  for (size_t i = 0; i < bytes / sizeof(float); i++) buffer[i] = (float)(i % 1000);
  return buffer;
}

static void operate(int all_reduce, const float *send, float *recv, int count, int ranks) {
  if (all_reduce)
    MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else
    MPI_Alltoall(send, count / ranks, MPI_FLOAT, recv, count / ranks, MPI_FLOAT, MPI_COMM_WORLD);
}

static double mean_us(int all_reduce, size_t bytes, int iterations, int ranks) {
  float *send = data(bytes), *recv = data(bytes);
  int count = (int)(bytes / sizeof(float));
  operate(all_reduce, send, recv, count, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < iterations; i++) operate(all_reduce, send, recv, count, ranks);
  double mine = (MPI_Wtime() - start) / iterations * 1e6, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(send);
  free(recv);
  return sum / ranks;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 2; i < argc; i++) {
    for (int all_reduce = 1; all_reduce >= 0; all_reduce--) {
      double us = mean_us(all_reduce, strtoull(argv[i], NULL, 10), atoi(argv[1]), ranks);
      if (rank == 0) printf("%s %s %.2f\n", all_reduce ? "allreduce" : "alltoall", argv[i], us);
    }
  }
  MPI_Finalize();
  return 0;
}
