!> Each rank writes its rows of a global array, in three steps: mpirun -n 4 rows_fortran
program rows
  use mpi
  use tailrace
  implicit none
  type(tailrace_stream) :: stream
  real :: row(4, 1)
  integer :: rank, ranks, ierr, step, x

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call tailrace_open(stream, MPI_COMM_WORLD, 'out', 'rows_fortran', "layout = 'fpp'" // new_line('a') // "mode = 'replace'")
  call tailrace_define_dim(stream, 'x', 4)
  call tailrace_define_dim(stream, 'y', ranks)
  call tailrace_define_var(stream, 'T', TAILRACE_F32, ['x', 'y'])
  call tailrace_put_attr(stream, 'T', 'units', 'K')
  do step = 0, 2
    row(:, 1) = [(real(100 * step + 4 * rank + x), x = 0, 3)]
    call tailrace_begin_step(stream, real(step))
    call tailrace_put(stream, 'T', row, start=[1, rank + 1])
    call tailrace_end_step(stream)
  end do
  call tailrace_close(stream)
  call MPI_Finalize(ierr)
end program
