!> The case table of tests/contract_cases.toml in Fortran: contract_case_fortran SCRIPT DIRECTORY ANSWERS. tests/test_contract.py
!> says what the lines of a script mean. They have C order and offsets from 0, which are turned here.
program contract_case_fortran
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mpi
  use tailrace
  implicit none
  integer, parameter :: most_words = 32
  type(tailrace_stream) :: stream
  type(tailrace_reader) :: reader
  character(1024) :: line, directory, script, answers, word(most_words)
  character(:), allocatable :: result
  integer :: rank, ierr, end_of_file, number, words
  logical :: is_reading = .false.

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call get_command_argument(1, script)
  call get_command_argument(2, directory)
  call get_command_argument(3, answers)
  open (10, file=script, status='old', action='read')
  open (11, file=trim(answers) // '/' // decimal(rank), action='write')
  number = -1
  do
    read (10, '(a)', iostat=end_of_file) line
    if (end_of_file /= 0) exit
    number = number + 1
    call split(line, ' ', word, words)
    call decode()
    if (word(1) /= 'all' .and. word(1) /= decimal(rank)) cycle
    call make_call()
    write (11, '(a)') decimal(number) // ' ' // trim(result)
    flush (11)
  end do
  call MPI_Finalize(ierr)

contains

  function decimal(n) result(text)
    integer, intent(in) :: n
    character(:), allocatable :: text
    character(20) :: digits

    write (digits, '(i0)') n
    text = trim(digits)
  end function

  subroutine split(text, separator, parts, n)
    character(*), intent(in) :: text
    character, intent(in) :: separator
    character(*), intent(out) :: parts(:)
    integer, intent(out) :: n
    integer :: begin, at

    n = 0
    begin = 1
    do at = 1, len_trim(text) + 1
      if (at <= len_trim(text)) then
        if (text(at:at) /= separator) cycle
      end if
      if (at > begin) then
        n = n + 1
        parts(n) = text(begin:at - 1)
      end if
      begin = at + 1
    end do
  end subroutine

  !> "\0" is a zero byte; NULL is no text.
  subroutine decode()
    integer :: w, at

    do w = 1, words
      if (word(w) == 'NULL') word(w) = ''
      at = index(word(w), '\0')
      if (at > 0) word(w) = word(w)(:at - 1) // achar(0) // word(w)(at + 2:)
    end do
  end subroutine

  !> '2,3' of C is [3, 2] here; '-': none.
  function reversed(text) result(numbers)
    character(*), intent(in) :: text
    integer, allocatable :: numbers(:)
    character(20) :: part(8)
    integer :: n, i

    n = 0
    if (text /= '-') call split(text, ',', part, n)
    allocate (numbers(n))
    do i = 1, n
      read (part(n + 1 - i), *) numbers(i)
    end do
  end function

  integer function whole(text)
    character(*), intent(in) :: text

    read (text, *) whole
  end function

  subroutine answer(status)
    integer, intent(in) :: status

    result = tailrace_status_name(status)
  end subroutine

  subroutine append(n)
    integer, intent(in) :: n

    result = result // ' ' // decimal(n)
  end subroutine

  logical function is_integer(name)
    character(*), intent(in) :: name

    is_integer = name(1:1) == 'i'  ! by convention of the table: the names of integer variables begin with i
  end function

  subroutine make_call()
    integer :: status, i, n
    integer(int64) :: count
    integer(int64), allocatable :: steps(:)
    real(real64), allocatable :: times(:)
    character(1024) :: owner

    status = TAILRACE_OK
    owner = word(3)
    if (owner == '.') owner = TAILRACE_GLOBAL
    select case (word(2))
    case ('open')
      do i = 1, len_trim(word(4))
        if (word(4)(i:i) == ';') word(4)(i:i) = new_line('a')
      end do
      call tailrace_open(stream, MPI_COMM_WORLD, directory, word(3), word(4), status)
    case ('resume')
      do i = 1, len_trim(word(4))
        if (word(4)(i:i) == ';') word(4)(i:i) = new_line('a')
      end do
      call tailrace_open(stream, MPI_COMM_WORLD, directory, word(3), word(4), resume_before=real_of(word(5)), error=status)
    case ('close')
      call tailrace_close(stream, status)
    case ('dim')
      if (word(4) == 'ragged') then
        call tailrace_define_dim(stream, word(3), TAILRACE_RAGGED, status)
      else
        call tailrace_define_dim(stream, word(3), whole(word(4)), status)
      end if
    case ('var')
      call define_var(status)
    case ('text')
      call tailrace_put_attr(stream, owner, word(4), word(5), status)
    case ('texts')
      call texts(owner, status)
    case ('number')
      call tailrace_put_attr(stream, owner, word(4), real_of(word(5)), status)
    case ('begin')
      call tailrace_begin_step(stream, real_of(word(3)), status)
    case ('put')
      call put(status)
    case ('put_indices')
      call put_indices(status)
    case ('get_indices')
      call get_indices()
      return
    case ('strings')
      call put_strings(status)
    case ('whole')
      call put_whole(status)
    case ('refuse')
      call tailrace_refuse_step(stream, TAILRACE_NOT_FOUND, 'no data here')
      status = TAILRACE_NOT_FOUND
    case ('end')
      call tailrace_end_step(stream, status)
    case ('flush')
      call tailrace_flush(stream, status)
    case ('read')
      call tailrace_open_read(reader, MPI_COMM_WORLD, directory, word(3), status)
      is_reading = status == TAILRACE_OK
    case ('select')
      call tailrace_select_step(reader, whole(word(3)), status)
    case ('close_read')
      call tailrace_close_read(reader, status)
      is_reading = .false.
    case ('count')
      call tailrace_step_count(stream, count, status)
      call answer(status)
      call append(int(count))
      return
    case ('steps')
      call tailrace_get_steps(reader, steps, times, status)
      call answer(status)
      do n = 1, size(steps)
        call append(int(steps(n)))
      end do
      return
    case ('shape')
      call show_shape()
      return
    case ('get')
      call get()
      return
    case ('get_shared')
      call get_shared()
      return
    case ('get_strings')
      call get_strings()
      return
    case default
      error stop 'contract_case_fortran: unknown operation'
    end select
    call answer(status)
  end subroutine

  real(real64) function real_of(text)
    character(*), intent(in) :: text

    read (text, *) real_of
  end function

  subroutine texts(owner, status)
    character(*), intent(in) :: owner
    integer, intent(out) :: status
    character(32) :: part(8)
    integer :: n

    call split(word(5), ',', part, n)
    call tailrace_put_attr(stream, owner, word(4), part(:n), status)
  end subroutine

  subroutine define_var(status)
    integer, intent(out) :: status
    character(32) :: part(8), dims(8)
    integer :: n, i, type

    n = 0
    if (word(6) /= '-') call split(word(6), ',', part, n)
    do i = 1, n
      dims(i) = part(n + 1 - i)
    end do
    type = TAILRACE_F64
    if (word(4) == 'i4') type = TAILRACE_I32
    if (word(4) == 'S1') type = TAILRACE_CHAR
    if (n == 0) then
      call tailrace_define_var(stream, word(3), type, flags=whole(word(5)), error=status)
    else
      call tailrace_define_var(stream, word(3), type, dims(:n), whole(word(5)), status)
    end if
  end subroutine

  !> put VAR FIRST HOW [OFFSETS COUNTS]...: one call for each block.
  subroutine put(status)
    integer, intent(out) :: status
    integer :: i, first, failed

    status = TAILRACE_OK
    first = whole(word(4))
    do i = 6, words - 1, 2
      if (is_integer(word(3))) then
        call put_integers(reversed(word(i)), reversed(word(i + 1)), first, failed)
      else
        call put_reals(reversed(word(i)), reversed(word(i + 1)), first, failed)
      end if
      if (status == TAILRACE_OK) status = failed
      first = first + product(reversed(word(i + 1)))
    end do
  end subroutine

  subroutine put_reals(offset, count, first, status)
    integer, intent(in) :: offset(:), count(:), first
    integer, intent(out) :: status
    real(real64), allocatable, target :: values(:)
    real(real64), pointer :: plane(:, :)
    integer :: step, i

    step = merge(2, 1, word(5) == 'strided')
    allocate (values(step * product(count)))
    values = 0
    values(::step) = [(real(first + i, real64), i = 0, product(count) - 1)]
    if (size(count) == 1 .and. size(offset) == 0) then
      call tailrace_put(stream, word(3), values(::step), error=status)
    else if (size(count) == 1) then
      call tailrace_put(stream, word(3), values(::step), offset + 1, error=status)
    else
      plane(1:step * count(1), 1:count(2)) => values
      call tailrace_put(stream, word(3), plane(::step, :), offset + 1, error=status)
    end if
  end subroutine

  subroutine put_integers(offset, count, first, status)
    integer, intent(in) :: offset(:), count(:), first
    integer, intent(out) :: status
    integer(int32), allocatable, target :: values(:)
    integer(int32), pointer :: plane(:, :)
    integer :: step, i

    step = merge(2, 1, word(5) == 'strided')
    allocate (values(step * product(count)))
    values = 0
    values(::step) = [(first + i, i = 0, product(count) - 1)]
    if (size(count) == 1 .and. size(offset) == 0) then
      call tailrace_put(stream, word(3), values(::step), error=status)
    else if (size(count) == 1) then
      call tailrace_put(stream, word(3), values(::step), offset + 1, error=status)
    else
      plane(1:step * count(1), 1:count(2)) => values
      call tailrace_put(stream, word(3), plane(::step, :), offset + 1, error=status)
    end if
  end subroutine

  !> put_indices VAR FIRST HOW DIM INDICES COUNTS
  subroutine put_indices(status)
    integer, intent(out) :: status
    real(real64), allocatable, target :: values(:)
    real(real64), pointer :: plane(:, :)
    integer, allocatable :: count(:), indices(:)
    integer :: step, i

    indices = reversed(word(7))
    indices = indices(size(indices):1:-1) + 1
    count = reversed(word(8))
    step = merge(2, 1, word(5) == 'strided')
    allocate (values(step * product(count)))
    values = 0
    values(::step) = [(real(whole(word(4)) + i, real64), i = 0, product(count) - 1)]
    if (is_integer(word(3))) then
      call tailrace_put_indices(stream, word(3), int(values(::step), int32), int(indices, int64), word(6), error=status)
    else if (size(count) == 1) then
      call tailrace_put_indices(stream, word(3), values(::step), indices, word(6), error=status)
    else
      plane(1:step * count(1), 1:count(2)) => values
      call tailrace_put_indices(stream, word(3), plane(::step, :), indices, word(6), error=status)
    end if
  end subroutine

  function shape_of(name) result(extent)
    character(*), intent(in) :: name
    integer(int64), allocatable :: extent(:)
    integer :: status

    if (is_reading) then
      call tailrace_inquire_var(reader, name, extent, status)
    else
      call tailrace_inquire_var(stream, name, extent, status)
    end if
  end function

  !> Strings in a file end with zero bytes, those of Fortran with blanks.
  subroutine put_strings(status)
    integer, intent(out) :: status
    integer(int64), allocatable :: extent(:)

    extent = shape_of(word(3))
    block
      character(extent(1)) :: text(words - 4)
      integer :: i

      do i = 1, size(text)
        text(i) = repeat(achar(0), int(extent(1)))
        text(i)(:len_trim(word(i + 4))) = trim(word(i + 4))
      end do
      call tailrace_put(stream, word(3), text, [whole(word(4)) + 1], error=status)
    end block
  end subroutine

  subroutine put_whole(status)
    integer, intent(out) :: status
    real(real64) :: values(words - 3)
    integer :: i

    values = [(real_of(word(i)), i = 4, words)]
    if (size(shape_of(word(3))) == 0) then
      call tailrace_put_replicated(stream, word(3), values(1), status)
    else if (is_integer(word(3))) then
      call tailrace_put_replicated(stream, word(3), int(values, int32), status)
    else
      call tailrace_put_replicated(stream, word(3), values, status)
    end if
  end subroutine

  subroutine show_shape()
    integer(int64), allocatable :: extent(:)
    integer :: status, element_type, flags, i

    if (is_reading) then
      call tailrace_inquire_var(reader, word(3), element_type, extent, flags, status)
    else
      call tailrace_inquire_var(stream, word(3), element_type, extent, flags, status)
    end if
    call answer(status)
    if (status /= TAILRACE_OK) return
    result = result // ' ' // merge('i4', merge('f8', 'S1', element_type == TAILRACE_F64), element_type == TAILRACE_I32)
    call append(flags)
    do i = size(extent), 1, -1
      if (extent(i) == TAILRACE_RAGGED) then
        result = result // ' ragged'
      else
        call append(int(extent(i)))
      end if
    end do
  end subroutine

  subroutine show(values, status)
    real(real64), intent(in) :: values(:)
    integer, intent(in) :: status
    integer :: i

    call answer(status)
    if (status /= TAILRACE_OK) return
    do i = 1, size(values)
      call append(nint(values(i)))
    end do
  end subroutine

  subroutine get()
    integer, allocatable :: offset(:), count(:)
    real(real64), allocatable, target :: reals(:)
    integer(int32), allocatable, target :: integers(:)
    real(real64), pointer :: plane(:, :)
    integer :: status

    offset = reversed(word(4))
    count = reversed(word(5))
    allocate (reals(product(count)), integers(product(count)))
    if (size(count) == 0) then
      call tailrace_get(reader, word(3), reals(1), status)
    else if (size(count) == 2) then
      plane(1:count(1), 1:count(2)) => reals
      call tailrace_get(reader, word(3), plane, offset + 1, status)
    else if (is_integer(word(3))) then
      call tailrace_get(reader, word(3), integers, offset + 1, status)
      reals = integers
    else
      call tailrace_get(reader, word(3), reals, offset + 1, status)
    end if
    call show(reals, status)
  end subroutine

  !> get_indices VAR DIM INDICES COUNTS
  subroutine get_indices()
    integer, allocatable :: count(:), indices(:)
    real(real64), allocatable, target :: reals(:)
    integer(int32), allocatable :: integers(:)
    real(real64), pointer :: plane(:, :)
    integer :: status

    indices = reversed(word(5))
    indices = indices(size(indices):1:-1) + 1
    count = reversed(word(6))
    allocate (reals(product(count)), integers(product(count)))
    if (size(count) == 2) then
      plane(1:count(1), 1:count(2)) => reals
      call tailrace_get_indices(reader, word(3), plane, indices, word(4), status)
    else if (is_integer(word(3))) then
      call tailrace_get_indices(reader, word(3), integers, int(indices, int64), word(4), status)
      reals = integers
    else
      call tailrace_get_indices(reader, word(3), reals, indices, word(4), status)
    end if
    call show(reals, status)
  end subroutine

  subroutine get_shared()
    integer(int64), allocatable :: extent(:)
    real(real64), allocatable :: values(:), plane(:, :)
    integer :: status

    extent = shape_of(word(3))
    allocate (values(product(extent)))
    if (size(extent) == 2) then
      allocate (plane(extent(1), extent(2)))
      call tailrace_get_shared(reader, word(3), plane, status)
      values = reshape(plane, shape(values))
    else
      call tailrace_get_shared(reader, word(3), values, status)
    end if
    call show(values, status)
  end subroutine

  subroutine get_strings()
    integer(int64), allocatable :: extent(:)
    integer :: status, n

    extent = shape_of(word(3))
    n = whole(word(5))
    block
      character(extent(1)) :: text(n)
      integer :: i

      call tailrace_get(reader, word(3), text, [whole(word(4)) + 1], status)
      call answer(status)
      do i = 1, size(text)
        if (status == TAILRACE_OK) result = result // ' ' // text(i)(:index(text(i) // achar(0), achar(0)) - 1)
      end do
    end block
  end subroutine
end program
