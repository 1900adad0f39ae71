!> Particles and observations whose number is another on every rank and in every step, written or read and compared:
!> fortran_ragged write DIRECTORY NAME OPTIONS STEPS, fortran_ragged read DIRECTORY NAME RANKS_OF_STEPS; as ragged_case.cpp.
program fortran_ragged
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm_rank, MPI_Comm_size, MPI_COMM_WORLD, MPI_Finalize, MPI_Init
  use tailrace_f08
  implicit none
  integer, parameter :: components = 3, letters = 4, latitudes = 5
  real(real64), parameter :: fill = -1
  integer :: rank, ranks, i
  character(4096) :: argument(5)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, 5
    call get_command_argument(i, argument(i))
  end do
  if (argument(1) == 'write') then
    call write_steps()
  else
    call read_steps()
  end if
  print '(a)', 'passed'
  call MPI_Finalize()

contains

  pure function values(variable, step, first, count)
    integer, intent(in) :: variable, step, first, count
    real(real64) :: values(count)
    integer :: i

    values = [(variable * 1000000d0 + step * 10000d0 + first + i - 1, i = 1, count)]
  end function

  pure function names(step, first, count)
    integer, intent(in) :: step, first, count
    character(letters) :: names(count)
    integer :: i, j

    do i = 1, count
      do j = 1, letters
        names(i)(j:j) = achar(iachar('a') + mod(step * 7 + ((first + i - 1) * letters + j - 1) * 3, 26))
      end do
    end do
  end function

  pure integer function count_of(step, of_rank)
    integer, intent(in) :: step, of_rank

    count_of = merge(0, mod(of_rank * 3 + step * 2, 5), step == 1)
  end function

  !> Elements of the ranks from `from` to before `to`.
  pure integer function sum_of(step, from, to)
    integer, intent(in) :: step, from, to
    integer :: r

    sum_of = sum([(count_of(step, r), r = from, to - 1)])
  end function

  pure function sparse(step, first, count, writers)
    integer, intent(in) :: step, first, count, writers
    real(real64) :: sparse(count)
    integer :: i, r

    sparse = values(5, step, first, count)
    do i = 1, count
      do r = 0, writers - 1, 2
        if (first + i > sum_of(step, 0, r) .and. first + i <= sum_of(step, 0, r + 1)) sparse(i) = fill
      end do
    end do
  end function

  subroutine write_steps()
    type(tailrace_stream) :: stream
    integer :: step, done, more, before, count, row, rows

    read (argument(5), *) more
    call tailrace_open(stream, MPI_COMM_WORLD, argument(2), argument(3), options=argument(4))
    call tailrace_define_dim(stream, 'particle', TAILRACE_RAGGED)
    call tailrace_define_dim(stream, 'component', components)
    call tailrace_define_dim(stream, 'letter', letters)
    call tailrace_define_dim(stream, 'lat', latitudes)
    call tailrace_define_dim(stream, 'obs', TAILRACE_RAGGED)
    call tailrace_define_var(stream, 'x', TAILRACE_F64, ['particle'])
    call tailrace_define_var(stream, 'velocity', TAILRACE_F32, [character(9) :: 'component', 'particle'])
    call tailrace_define_var(stream, 'name', TAILRACE_CHAR, [character(9) :: 'letter', 'particle'])
    call tailrace_define_var(stream, 'y', TAILRACE_I32, ['obs'])
    call tailrace_define_var(stream, 'sometimes', TAILRACE_F64, ['particle'])
    call tailrace_define_var(stream, 'T', TAILRACE_F32, ['lat'])
    call tailrace_define_var(stream, 'mass', TAILRACE_F64)
    call tailrace_put_attr(stream, 'x', 'units', 'm')
    call tailrace_put_attr(stream, 'sometimes', '_FillValue', fill)
    call tailrace_step_count(stream, done)
    do step = done, done + more - 1
      before = sum_of(step, 0, rank)
      count = count_of(step, rank)
      row = latitudes * rank / ranks
      rows = latitudes * (rank + 1) / ranks - row
      call tailrace_begin_step(stream, real(step, real64))
      call tailrace_put(stream, 'x', values(1, step, before, count / 2))
      call tailrace_put(stream, 'x', values(1, step, before + count / 2, count - count / 2))
      call tailrace_put(stream, 'velocity', &
        reshape(real(values(2, step, before * components, count * components), real32), [components, count]))
      call tailrace_put(stream, 'name', names(step, before, count))
      call tailrace_put(stream, 'y', int(values(4, step, sum_of(step, rank + 1, ranks), count), int32), &
        [sum_of(step, rank + 1, ranks) + 1])
      if (mod(rank, 2) == 1) call tailrace_put(stream, 'sometimes', values(5, step, before, count))
      call tailrace_put(stream, 'T', real(values(6, step, row, rows), real32), [row + 1])
      call tailrace_put_replicated(stream, 'mass', sum(values(7, step, 0, 1)))
      call tailrace_end_step(stream)
    end do
    call tailrace_close(stream)
  end subroutine

  subroutine read_steps()
    type(tailrace_reader) :: reader
    integer :: writers(100), i, step, total, first, count, by
    integer(int64), allocatable :: steps(:), shape_of(:)
    real(real64), allocatable :: times(:), x(:)
    real(real32), allocatable :: velocity(:, :)
    character(letters), allocatable :: name(:)
    integer(int32), allocatable :: y(:)
    real(real32) :: t(latitudes)
    real(real64) :: mass

    writers = 0
    read (argument(4), *, end=1) writers
1   continue
    call tailrace_open_read(reader, MPI_COMM_WORLD, argument(2), argument(3))
    call tailrace_get_steps(reader, steps, times)
    do i = 1, size(steps)
      step = int(steps(i))
      call tailrace_select_step(reader, steps(i))
      by = writers(step + 1)
      total = sum_of(step, 0, by)
      call tailrace_inquire_var(reader, 'velocity', shape_of)
      if (any(shape_of /= [components, total])) call stop_at('the length', step)
      first = total * rank / ranks
      count = total * (rank + 1) / ranks - first
      allocate (x(count), velocity(components, count), name(count), y(count))
      call tailrace_get(reader, 'x', x, [first + 1])
      if (any(nint(x) /= nint(values(1, step, first, count)))) call stop_at('x', step)
      call tailrace_get(reader, 'velocity', velocity, [1, first + 1])
      if (any(nint(velocity) /= nint(reshape(real(values(2, step, first * components, count * components), real32), &
        [components, count])))) call stop_at('velocity', step)
      call tailrace_get(reader, 'name', name, [first + 1])
      if (any(name /= names(step, first, count))) call stop_at('name', step)
      call tailrace_get(reader, 'y', y, [first + 1])
      if (any(y /= nint(values(4, step, first, count)))) call stop_at('y', step)
      call tailrace_get(reader, 'sometimes', x, [first + 1])
      if (any(nint(x) /= nint(sparse(step, first, count, by)))) call stop_at('sometimes', step)
      call tailrace_get(reader, 'T', t)
      if (any(nint(t) /= nint(real(values(6, step, 0, latitudes), real32)))) call stop_at('T', step)
      call tailrace_get(reader, 'mass', mass)
      if (nint(mass) /= nint(sum(values(7, step, 0, 1)))) call stop_at('mass', step)
      deallocate (x, velocity, name, y)
    end do
    if (rank == 0) print '(i0, a)', size(steps), ' steps'
    call tailrace_close_read(reader)
  end subroutine

  subroutine stop_at(name, step)
    character(*), intent(in) :: name
    integer, intent(in) :: step

    write (error_unit, *) 'rank', rank, ': wrong ', name, ' of step', step
    error stop 1
  end subroutine
end program
