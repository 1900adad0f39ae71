! One file of all ranks by MPI-IO; with the module mpi_f08, or, with -DOLD, with mpi. Status 1: what was read is not what was written.
program mpi_files
#ifdef OLD
    use mpi
#else
    use mpi_f08
#endif
    implicit none
    integer, parameter :: count = 50000
#ifdef OLD
    integer :: file, state(MPI_STATUS_SIZE)
#else
    type(MPI_File) :: file
    type(MPI_Status) :: state
#endif
    integer :: values(count), back(count), rank, ierror, i, unit
    character(20) :: name

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    values = [(rank*count + i, i=1, count)]
    call MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call MPI_File_write_at_all(file, int(rank*count*4, MPI_OFFSET_KIND), values, count, MPI_INTEGER, state, ierror)
    call MPI_File_read_at(file, int(rank*count*4, MPI_OFFSET_KIND), back, count, MPI_INTEGER, state, ierror)
    call MPI_File_close(file, ierror)
    if (any(back /= values)) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    write (name, "(a,i0)") "rank.", rank
    open (newunit=unit, file=name, form="unformatted")
    write (unit) values
    rewind (unit)
    read (unit) back
    close (unit)
    if (any(back /= values)) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    call MPI_Finalize(ierror)
end program mpi_files
