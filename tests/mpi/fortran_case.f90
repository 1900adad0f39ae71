!> The case of tests/test_fortran.py in Fortran: fortran_case DIRECTORY NAME OPTIONS STEPS.
program fortran_case
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi
  use tailrace
  implicit none
  integer, parameter :: lon = 10, lat = 7, level = 3, cell = 23, chunk_cells = 3
  type(tailrace_stream) :: stream
  integer :: rank, ranks, ierr, steps
  integer(int64) :: done, step
  character(4096) :: argument(4)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  if (command_argument_count() /= 4) error stop 'usage: fortran_case DIRECTORY NAME OPTIONS STEPS'
  do ierr = 1, 4
    call get_command_argument(ierr, argument(ierr))
  end do
  read (argument(4), *) steps
  call tailrace_open(stream, MPI_COMM_WORLD, argument(1), argument(2), argument(3))
  call define()
  call tailrace_step_count(stream, done)
  do step = done, done + steps - 1
    call write_step()
  end do
  call tailrace_close(stream)
  call MPI_Finalize(ierr)

contains

  elemental integer(int64) function formula(variable, of_step, index)
    integer, intent(in) :: variable, index
    integer(int64), intent(in) :: of_step

    formula = variable * 100000_int64 + of_step * 1000 + index
  end function

  integer function begin_of(length, of_rank)
    integer, intent(in) :: length, of_rank

    begin_of = length * of_rank / ranks
  end function

  subroutine define()
    integer, parameter :: coordinate = TAILRACE_STATIC + TAILRACE_REPLICATED

    call tailrace_define_dim(stream, 'lon', lon)
    call tailrace_define_dim(stream, 'lat', lat)
    call tailrace_define_dim(stream, 'level', level)
    call tailrace_define_dim(stream, 'cell', int(cell, int64))
    call tailrace_define_var(stream, 'lat', TAILRACE_F64, ['lat'], coordinate)
    call tailrace_define_var(stream, 'lon', TAILRACE_F64, ['lon'], coordinate)
    call tailrace_define_var(stream, 'area', TAILRACE_F32, ['lon', 'lat'], coordinate)
    call tailrace_define_var(stream, 'mask', TAILRACE_I8, ['lon', 'lat'], TAILRACE_STATIC)
    call tailrace_define_var(stream, 'T', TAILRACE_F32, ['lon', 'lat'])
    call tailrace_define_var(stream, 'W', TAILRACE_F64, [character(5) :: 'lon', 'lat', 'level'])
    call tailrace_define_var(stream, 'soil', TAILRACE_I32, ['cell'])
    call tailrace_define_var(stream, 'number', TAILRACE_I16, ['lat'])
    call tailrace_define_var(stream, 'id', TAILRACE_I64, ['cell'])
    call tailrace_define_var(stream, 'dt', TAILRACE_F64)
    call tailrace_put_attr(stream, TAILRACE_GLOBAL, 'title', 'case table  ')
    call tailrace_put_attr(stream, TAILRACE_GLOBAL, 'version', 3_int32)
    call tailrace_put_attr(stream, 'time', 'units', 'seconds since 2000-01-01')
    call tailrace_put_attr(stream, 'lat', 'units', 'degrees_north')
    call tailrace_put_attr(stream, 'lon', 'units', 'degrees_east')
    call tailrace_put_attr(stream, 'T', 'units', 'K')
    call tailrace_put_attr(stream, 'T', 'valid_range', [-1.5_real32, 1e6_real32])
  end subroutine

  subroutine put_static()
    real(real32) :: area(lon, lat)
    integer(int8) :: mask(lon, lat)
    integer :: i, first, last

    area = reshape(real(formula(7, 0_int64, [(i, i = 0, lon * lat - 1)]), real32), [lon, lat])
    mask = reshape(int(mod(formula(4, 0_int64, [(i, i = 0, lon * lat - 1)]), 100_int64), int8), [lon, lat])
    call tailrace_put_replicated(stream, 'lat', [(-75 + 25 * real(i, real64), i = 0, lat - 1)])
    call tailrace_put_replicated(stream, 'lon', [(36 * real(i, real64), i = 0, lon - 1)])
    call tailrace_put_replicated(stream, 'area', area)
    first = begin_of(lon, rank) + 1
    last = begin_of(lon, rank + 1)
    call tailrace_put(stream, 'mask', mask(first:last, :), start=[first, 1])  ! copied: mask is gone at end_step
  end subroutine

  subroutine write_step()
    real(real32), allocatable :: t(:, :)
    real(real64), allocatable, target :: w(:, :, :)
    integer(int32) :: soil(cell)
    integer(int16), allocatable :: number(:)
    integer(int64), target :: id(cell)
    integer :: first, last, i, j, l

    first = begin_of(lat, rank) + 1
    last = begin_of(lat, rank + 1)
    call tailrace_begin_step(stream, 3600d0 * step)
    if (step == done) call put_static()  ! in each run

    allocate (t(lon, first:last))
    do j = first, last
      t(:, j) = [(real(formula(1, step, (j - 1) * lon + i - 1), real32), i = 1, lon)]
    end do
    call tailrace_put(stream, 'T', t, start=[1, first])
    t = -1  ! the copy is what counts

    allocate (w(0:lon + 1, first - 1:last + 1, level), source=-1d0)  ! with its halo
    do l = 1, level
      do j = first, last
        w(1:lon, j, l) = [(real(formula(2, step, ((l - 1) * lat + j - 1) * lon + i - 1), real64), i = 1, lon)]
      end do
    end do
    call tailrace_put(stream, 'W', w(1:lon, first:last, :), start=[1, first, 1], keep=.true.)

    soil = [(int(formula(3, step, i - 1), int32), i = 1, cell)]
    do i = rank * chunk_cells + 1, cell, ranks * chunk_cells  ! dealt to the ranks in turn
      call tailrace_put(stream, 'soil', soil(i:min(i + chunk_cells - 1, cell)), start=[int(i, int64)])
    end do

    allocate (number(merge(lat, 0, rank == 0)))
    number = [(int(mod(formula(5, step, j - 1), 30000_int64), int16), j = 1, size(number))]
    call tailrace_put(stream, 'number', number)

    if (rank == ranks - 1) then
      id = [(formula(6, step, cell - i), i = 1, cell)]
      call tailrace_put(stream, 'id', id(cell:1:-1), keep=.true.)  ! stored backwards
    end if
    call tailrace_put_replicated(stream, 'dt', real(formula(8, step, 0), real64))
    call tailrace_end_step(stream)
  end subroutine
end program
