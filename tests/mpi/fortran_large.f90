!> Arrays of more elements than a default integer counts, on one rank: fortran_large DIRECTORY. Put as a copy, put in place, read.
program fortran_large
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use mpi_f08, only: MPI_COMM_WORLD, MPI_Finalize, MPI_Init
  use tailrace_f08
  implicit none
  integer(int64), parameter :: length = 2_int64**31 + 1000
  type(tailrace_stream) :: stream
  type(tailrace_reader) :: reader
  integer(int8), allocatable :: values(:)
  integer :: step
  character(4096) :: directory

  call MPI_Init()
  call get_command_argument(1, directory)
  allocate (values(length))
  call tailrace_open(stream, MPI_COMM_WORLD, directory, 'large', options="layout = 'fpp'")
  call tailrace_define_dim(stream, 'x', length)
  call tailrace_define_var(stream, 'v', TAILRACE_I8, ['x'])
  do step = 0, 1
    call fill(step)
    call tailrace_begin_step(stream, real(step, kind(1d0)))
    call tailrace_put(stream, 'v', values, keep=step == 1)
    call tailrace_end_step(stream)
  end do
  call tailrace_close(stream)

  call tailrace_open_read(reader, MPI_COMM_WORLD, directory, 'large')
  do step = 0, 1
    call tailrace_select_step(reader, step)
    values = -1
    call tailrace_get(reader, 'v', values)
    call check(step)
  end do
  call tailrace_close_read(reader)
  call MPI_Finalize()

contains

  elemental integer(int8) function value(step, at)
    integer, intent(in) :: step
    integer(int64), intent(in) :: at

    value = int(mod(at + 7 * step, 101_int64), int8)
  end function

  subroutine fill(step)
    integer, intent(in) :: step
    integer(int64) :: at

    do at = 1, length
      values(at) = value(step, at)
    end do
  end subroutine

  subroutine check(step)
    integer, intent(in) :: step
    integer(int64) :: at

    do at = 1, length
      if (values(at) /= value(step, at)) error stop 'wrong value'
    end do
  end subroutine

end program
