!> The calls of MPI that have the most arguments, for tests/test_trace_mpi.py. Stops where what arrives is wrong.
program words_case
  use mpi
  implicit none
  integer :: rank, ranks, other, request, error
  integer, allocatable :: ones(:), places(:), bytes(:), types(:), sent(:), got(:), expected(:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  allocate(ones(ranks), places(ranks), bytes(ranks), types(ranks), sent(ranks), got(ranks), expected(ranks))
  ones = 1
  types = MPI_INTEGER
  places = [(other, other = 0, ranks - 1)]
  bytes = 4 * places
  sent = [(100 * rank + other, other = 0, ranks - 1)]

  got = -1
  call MPI_Igatherv(sent, 1, MPI_INTEGER, got, ones, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
  expected = merge([(100 * other, other = 0, ranks - 1)], -1, rank == 0)
  call finish()

  got = -1
  call MPI_Iscatterv(sent, ones, places, MPI_INTEGER, got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
  expected = -1
  expected(1) = rank
  call finish()

  got = -1
  call MPI_Ialltoallv(sent, ones, places, MPI_INTEGER, got, ones, places, MPI_INTEGER, MPI_COMM_WORLD, request, error)
  expected = [(100 * other + rank, other = 0, ranks - 1)]
  call finish()

  got = -1
  call MPI_Ialltoallw(sent, ones, bytes, types, got, ones, bytes, types, MPI_COMM_WORLD, request, error)
  call finish()
  call MPI_Finalize(error)

contains

  subroutine finish()
    if (error /= MPI_SUCCESS) error stop 'the call failed'
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    if (any(got /= expected)) error stop 'received is something else'
  end subroutine

end program
