!> A wrong call on rank 0 alone, in step 0; then a right step: fortran_errors DIRECTORY NAME OPTIONS CALL.
!> Each rank prints the status of the call (rank 0), of its end_step and of the end_step after it.
program fortran_errors
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use tailrace
  implicit none
  type(tailrace_stream) :: stream
  real :: row(4, 1)
  integer :: rank, ranks, ierr, i, put, first_end, second_end
  character(4096) :: argument(4)
  character(:), allocatable :: text

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  do i = 1, 4
    call get_command_argument(i, argument(i))
  end do
  call tailrace_open(stream, MPI_COMM_WORLD, argument(1), argument(2), argument(3))
  call tailrace_define_dim(stream, 'x', 4)
  call tailrace_define_dim(stream, 'y', ranks)
  call tailrace_define_var(stream, 'T', TAILRACE_F32, ['x', 'y'])
  call tailrace_define_var(stream, 'level', TAILRACE_F64, ['x'], flags=TAILRACE_REPLICATED)
  row(:, 1) = [(4.0 * rank + i, i = 0, 3)]

  put = TAILRACE_OK
  call tailrace_begin_step(stream, 0d0)
  if (rank > 0 .or. (argument(4) /= 'gap' .and. argument(4) /= 'overlap')) call tailrace_put(stream, 'T', row, [1, rank + 1])
  call tailrace_put_replicated(stream, 'level', [1d0, 2d0, 3d0, 4d0])
  if (rank == 0) call wrong_call(trim(argument(4)))
  text = ''
  if (put /= TAILRACE_OK) text = tailrace_error_message()
  call tailrace_end_step(stream, first_end)
  if (text == '' .and. first_end /= TAILRACE_OK) text = tailrace_error_message()

  call tailrace_begin_step(stream, 1d0)
  call tailrace_put(stream, 'T', row, [1, rank + 1])
  call tailrace_put_replicated(stream, 'level', [1d0, 2d0, 3d0, 4d0])
  call tailrace_end_step(stream, second_end)
  write (*, '(3(a,1x),a)') name_of(put), name_of(first_end), name_of(second_end), text
  call tailrace_close(stream)
  call MPI_Finalize(ierr)

contains

  function name_of(status) result(name)
    integer, intent(in) :: status
    character(:), allocatable :: name

    name = tailrace_status_name(status)
  end function

  subroutine wrong_call(kind_of_call)
    character(*), intent(in) :: kind_of_call

    select case (kind_of_call)
    case ('type')
      call tailrace_put(stream, 'T', real(row, real64), [1, 1], error=put)
    case ('rank')
      call tailrace_put(stream, 'T', row(:, 1), [1], error=put)
    case ('start-count')
      call tailrace_put(stream, 'T', row, [1], error=put)
    case ('start-zero')
      call tailrace_put(stream, 'T', row, [0, 1], error=put)
    case ('beyond')
      call tailrace_put(stream, 'T', row, [2, 1], error=put)
    case ('gap')
      continue
    case ('overlap')
      call tailrace_put(stream, 'T', reshape([row, row], [4, 2]), [1, 1], error=put)
    case ('name')
      call tailrace_put(stream, 'nowhere', row, [1, 1], error=put)
    case ('replicated-shape')
      call tailrace_put_replicated(stream, 'level', [1d0, 2d0], error=put)
    case ('refused')
      put = TAILRACE_NOT_FOUND
      call tailrace_refuse_step(stream, put, 'no column on this rank')
    case ('no-error-argument')
      call tailrace_put(stream, 'T', row(:, 1))
    case default
      error stop 'fortran_errors: unknown call'
    end select
  end subroutine
end program
