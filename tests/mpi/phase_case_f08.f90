!> Barriers of `use mpi_f08`, for tests/test_trace_mpi.py.
program phase_case_f08
  use mpi_f08
  implicit none
  integer :: step, total, rank

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  do step = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
end program
