!> Wrong calls of reading a stream of fortran_ranks, each with an error argument: fortran_read_errors DIRECTORY NAME; with a third
!> argument one without. Each rank prints a line for each call: the rank, the call, its status and text.
program fortran_read_errors
  use, intrinsic :: iso_fortran_env, only: int16, int64, real64
  use mpi
  use tailrace
  implicit none
  type(tailrace_reader) :: reader, other
  integer :: whole(3, 4), row(3), rank, error, i
  integer(int16) :: narrow(3, 2, 4)
  integer(int64), allocatable :: steps(:)
  real(real64) :: wide(3, 4)
  real(real64), allocatable :: times(:)
  character(4096) :: argument(2)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 2
    call get_command_argument(i, argument(i))
  end do
  whole = -1
  call tailrace_open_read(reader, MPI_COMM_WORLD, argument(1), argument(2))
  if (command_argument_count() > 2) call tailrace_get(reader, 'rank_2', row)

  call tailrace_get(reader, 'rank_2', wide, [1, 1], error)
  call tell('type')
  call tailrace_get(reader, 'kind_u8', narrow, error=error)
  call tell('unsigned')
  call tailrace_get(reader, 'rank_2', row, [1], error)
  call tell('rank')
  call tailrace_get(reader, 'rank_2', row(1), error)
  call tell('scalar')
  call tailrace_get(reader, 'rank_2', whole, [1], error)
  call tell('start-count')
  call tailrace_get(reader, 'rank_2', whole, [1, 0], error)
  call tell('start-zero')
  call tailrace_get(reader, 'rank_2', whole, [1_int64, 2_int64], error)
  call tell('beyond')
  call tailrace_get(reader, 'nowhere', whole, error=error)
  call tell('name')
  call tailrace_get_shared(reader, 'nowhere', whole, error)
  call tell('shared-name')
  call tailrace_get_shared(reader, 'rank_2', whole(:, :merge(3, 4, rank == 0)), error)  ! wrong on rank 0 alone
  call tell('shared-shape')
  call tailrace_select_step(reader, 7, error)
  call tell('step')
  call tailrace_open_read(reader, MPI_COMM_WORLD, argument(1), argument(2), error)
  call tell('open-twice')
  call tailrace_open_read(other, MPI_COMM_WORLD, argument(1), 'nothing', error)
  call tell('stream')
  if (any(whole /= -1)) error stop 'a call that failed has written'
  call tailrace_get(reader, 'rank_2', whole, error=error)
  call tell('right')
  call tailrace_close_read(reader, error)
  call tell('close')
  call tailrace_get_steps(reader, steps, times, error)
  call tell('closed')
  if (size(steps) /= 0 .or. size(times) /= 0) error stop 'a closed reader has steps'
  call MPI_Finalize(error)

contains

  subroutine tell(of_call)
    character(*), intent(in) :: of_call
    character(:), allocatable :: text

    text = ''
    if (error /= TAILRACE_OK) text = tailrace_error_message()
    write (*, '(i0,1x,3(a,1x))') rank, of_call, tailrace_status_name(error), text
  end subroutine
end program
