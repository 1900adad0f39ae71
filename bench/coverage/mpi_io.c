/* One file of all ranks by MPI-IO, contiguous and with a view. Status 1: what was read is not what was written. */
#include <mpi.h>

enum { COUNT = 50000 };
static int values[COUNT], back[COUNT];

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; ++i) values[i] = rank * COUNT + i;
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, (MPI_Offset)rank * (MPI_Offset)sizeof values, values, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Datatype every;
    MPI_Type_vector(COUNT / 100, 100, 100 * ranks, MPI_INT, &every);
    MPI_Type_commit(&every);
    const MPI_Offset behind = (MPI_Offset)ranks * (MPI_Offset)sizeof values;
    MPI_File_set_view(file, behind + rank * 400, MPI_INT, every, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, back, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&every);
    for (int i = 0; i < COUNT; ++i)
        if (back[i] != values[i]) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
