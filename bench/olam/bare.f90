!> The bare writes of the OLAM kernel: the same ranks open the same files and write the same bytes with the same WRITE statements,
!> and do nothing else. The bytes are those of an earlier run of the kernel, read before the clock starts.
!>
!>     bench_olam_bare SOURCE TARGET STEPS     prints {"steps_s": [the slowest rank's seconds in the output phases of each step]}
program bench_olam_bare
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, int8, real64
  use mpi
  implicit none
  integer, parameter :: fixed_header_bytes = 48, entry_bytes = 48

  type :: content_type
    integer(int8), allocatable :: bytes(:)   !< kept from step to step, as a model keeps its arrays: step 1 has the longest files
    integer, allocatable :: ends(:)          !< of the header and of each variable
  end type

  type(content_type) :: plot, results, history
  character(1024) :: source, target, argument
  character(16) :: suffix
  integer :: rank, steps, step, error
  real(real64), allocatable :: seconds(:, :), slowest(:, :)
  real(real64) :: started

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, source)
  call get_command_argument(2, target)
  call get_command_argument(3, argument)
  read (argument, *) steps
  allocate (seconds(2, steps), slowest(2, steps))
  do step = 1, steps
    write (suffix, '(".", i6.6, ".", i6.6)') step, rank
    call read_content(plot, 'plot'//suffix(:14))
    call read_content(results, 'results'//suffix(:14))
    if (rank == 0) call read_content(history, 'history'//suffix(:7))

    call MPI_Barrier(MPI_COMM_WORLD, error)
    started = clock_s()
    call write_file('plot'//suffix(:14), plot)
    seconds(1, step) = clock_s() - started

    call MPI_Barrier(MPI_COMM_WORLD, error)
    started = clock_s()
    call write_file('results'//suffix(:14), results)
    if (rank == 0) call write_file('history'//suffix(:7), history)
    seconds(2, step) = clock_s() - started
  end do
  call MPI_Reduce(seconds, slowest, 2*steps, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
  if (rank == 0) write (*, '(a, *(es24.16e3, :, ","))', advance='no') '{"steps_s": [', sum(slowest, dim=1)
  if (rank == 0) write (*, '(a)') ']}'
  call MPI_Finalize(error)

contains

  function clock_s() result(now_s)
    real(real64) :: now_s
    integer(int64) :: count, rate

    call system_clock(count, rate)
    now_s = real(count, real64)/real(rate, real64)
  end function

  !> A file of the kernel, and where its header and its variables end.
  subroutine read_content(found, name)
    type(content_type), intent(inout) :: found
    character(*), intent(in) :: name
    integer :: unit, bytes, status, v
    integer(int32) :: numbers(10)
    integer(int64) :: value_bytes

    open (newunit=unit, file=trim(source)//'/'//name, access='stream', form='unformatted', status='old', action='read', &
          iostat=status)
    if (status /= 0) then
      write (error_unit, '(a)') 'bench_olam_bare: '//trim(source)//'/'//name//' is not there; it comes from a run of the kernel'
      call MPI_Abort(MPI_COMM_WORLD, 2, error)
    end if
    inquire (unit, size=bytes)
    if (.not. allocated(found%bytes)) allocate (found%bytes(bytes))
    read (unit) found%bytes(:bytes)
    close (unit)
    numbers = transfer(found%bytes(9:fixed_header_bytes), numbers)
    if (allocated(found%ends)) deallocate (found%ends)
    allocate (found%ends(0:numbers(5)))
    found%ends(0) = numbers(6)
    do v = 1, numbers(5)
      value_bytes = transfer(found%bytes(fixed_header_bytes + v*entry_bytes - 7:fixed_header_bytes + v*entry_bytes), value_bytes)
      found%ends(v) = found%ends(v - 1) + int(value_bytes)
    end do
  end subroutine

  subroutine write_file(name, what)
    character(*), intent(in) :: name
    type(content_type), intent(in) :: what
    integer :: unit, v

    open (newunit=unit, file=trim(target)//'/'//name, access='stream', form='unformatted', status='replace', action='write')
    write (unit) what%bytes(:what%ends(0))
    do v = 1, ubound(what%ends, 1)
      write (unit) what%bytes(what%ends(v - 1) + 1:what%ends(v))
    end do
    close (unit)
  end subroutine

end program
