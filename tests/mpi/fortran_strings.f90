!> Arrays of characters, written or read and compared: fortran_strings write|read DIRECTORY NAME [OPTIONS].
!> tests/test_strings.py says the formula, strings_case.cpp and tests/python_strings.py are the same in their languages.
program fortran_strings
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi_f08, only: MPI_Comm_rank, MPI_Comm_size, MPI_COMM_WORLD, MPI_Finalize, MPI_Init
  use tailrace_f08
  implicit none
  integer, parameter :: stations = 11, pairs = 2, length = 6, steps = 2
  integer :: rank, ranks, first, last, i
  character(4096) :: argument(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, 4
    call get_command_argument(i, argument(i))
  end do
  first = stations * rank / ranks + 1
  last = stations * (rank + 1) / ranks
  if (argument(1) == 'write') then
    call write_steps()
  else
    call read_steps()
  end if
  print '(a)', 'passed'
  call MPI_Finalize()

contains

  !> Item `item` of an array of strings, counted from 0.
  pure function text(variable, step, item)
    integer, intent(in) :: variable, step, item
    character(length) :: text
    integer :: place

    text = ''
    do place = 1, mod(item * 5 + variable + step, length + 1)
      text(place:place) = achar(iachar('a') + mod(variable * 7 + step * 5 + (item * length + place - 1) * 3, 26))
    end do
  end function

  subroutine fill(row, columns, title, names, step)
    character(length), intent(out) :: row(:), columns(:, :), title, names(:)
    integer, intent(in) :: step
    integer :: i, p

    title = text(4, step, 0)
    do i = first, last
      names(i - first + 1) = text(1, 0, i - 1)
      row(i - first + 1) = text(2, step, i - 1)
      do p = 1, pairs
        columns(i - first + 1, p) = text(3, step, (p - 1) * stations + i - 1)
      end do
    end do
  end subroutine

  subroutine write_steps()
    type(tailrace_stream) :: stream
    character(length) :: names(last - first + 1), row(last - first + 1), columns(last - first + 1, pairs), title
    character(length) :: spaced(2 * (last - first + 1))
    integer :: step

    call tailrace_open(stream, MPI_COMM_WORLD, argument(2), argument(3), options=argument(4))
    call tailrace_define_dim(stream, 'length', length)
    call tailrace_define_dim(stream, 'station', stations)
    call tailrace_define_dim(stream, 'pair', pairs)
    call tailrace_define_var(stream, 'names', TAILRACE_CHAR, [character(7) :: 'length', 'station'], TAILRACE_STATIC)
    call tailrace_define_var(stream, 'state', TAILRACE_CHAR, [character(7) :: 'length', 'station'])
    call tailrace_define_var(stream, 'grid', TAILRACE_CHAR, [character(7) :: 'length', 'station', 'pair'])
    call tailrace_define_var(stream, 'title', TAILRACE_CHAR, ['length'], TAILRACE_REPLICATED)
    call tailrace_put_attr(stream, 'names', 'cf_role', 'timeseries_id')
    call tailrace_put_attr(stream, 'state', '_FillValue', '#')
    do step = 0, steps - 1
      call fill(row, columns, title, names, step)
      spaced = 'beside'
      spaced(::2) = row
      call tailrace_begin_step(stream, real(step, kind(1d0)))
      call tailrace_put(stream, 'names', names, [first])
      call tailrace_put(stream, 'state', spaced(::2), [first])
      call tailrace_put(stream, 'grid', columns, [int(first, int64), 1_int64], keep=.true.)
      call tailrace_put_replicated(stream, 'title', title)
      spaced = 'after'  ! a copy was taken
      call tailrace_end_step(stream)
    end do
    call tailrace_close(stream)
  end subroutine

  subroutine read_steps()
    type(tailrace_reader) :: reader
    character(length) :: names(last - first + 1), row(last - first + 1), columns(last - first + 1, pairs), title
    character(length) :: found(last - first + 1), found_columns(2 * (last - first + 1), pairs), found_title
    integer :: step

    call tailrace_open_read(reader, MPI_COMM_WORLD, argument(2), argument(3))
    do step = 0, steps - 1
      call fill(row, columns, title, names, step)
      call tailrace_select_step(reader, step)
      call tailrace_get(reader, 'names', found, [first])
      if (any(found /= names)) call stop_at('names', step, found)
      call tailrace_get(reader, 'state', found, [first])
      if (any(found /= row)) call stop_at('state', step, found)
      found_columns = 'beside'
      call tailrace_get(reader, 'grid', found_columns(::2, pairs:1:-1), [first, 1])
      if (any(found_columns(::2, pairs:1:-1) /= columns)) call stop_at('grid', step, found_columns(::2, 1))
      if (any(found_columns(2::2, :) /= 'beside')) call stop_at('what lies beside grid', step, found_columns(2::2, 1))
      call tailrace_get(reader, 'title', found_title)
      if (found_title /= title) call stop_at('title', step, [found_title])
      found_title = ''
      call tailrace_get_shared(reader, 'title', found_title)
      if (found_title /= title) call stop_at('shared title', step, [found_title])
    end do
    call tailrace_close_read(reader)
  end subroutine

  subroutine stop_at(name, step, found)
    character(*), intent(in) :: name, found(:)
    integer, intent(in) :: step

    write (error_unit, *) 'rank', rank, ': wrong ', name, ' of step', step, ': ', found
    error stop 1
  end subroutine
end program
