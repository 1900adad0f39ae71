!> Texts between Fortran and C, and how a failure is reported: to the caller, or by stopping the run.
module tailrace_message
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_int64_t, c_null_char, c_null_ptr, &
    c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use tailrace_contract, only: contract_error_message, contract_refuse_read, contract_refuse_step, contract_status_name, &
    contract_strlen, contract_version, TAILRACE_OK, contract_phase_begin, contract_phase_end
  implicit none
  private
  public :: tailrace_error_message, tailrace_status_name, tailrace_version, tailrace_phase_begin, tailrace_phase_end
  public :: caller, no_stream, stream_call, reader_call, of_reader, refuse, finish, fortran_text, decimal, decimal_list
  public :: terminated, terminated_bytes

  !> The C handle of the stream or reader that a call is made with.
  type :: caller
    type(c_ptr) :: handle = c_null_ptr
    integer :: kind = 0
  end type

  integer, parameter :: kind_stream = 1, kind_reader = 2

contains

  pure function no_stream() result(made)
    type(caller) :: made

    made = caller()
  end function

  pure function stream_call(handle) result(made)
    type(c_ptr), intent(in) :: handle
    type(caller) :: made

    made = caller(handle, kind_stream)
  end function

  pure function reader_call(handle) result(made)
    type(c_ptr), intent(in) :: handle
    type(caller) :: made

    made = caller(handle, kind_reader)
  end function

  pure function of_reader(of)
    type(caller), intent(in) :: of
    logical :: of_reader

    of_reader = of%kind == kind_reader
  end function

  !> Returns the text of the last failure; '' if there was none.
  function tailrace_error_message() result(text)
    character(:), allocatable :: text

    text = fortran_text(contract_error_message())
  end function

  !> The name of a status, such as 'BLOCK_OVERLAP'.
  function tailrace_status_name(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text

    text = fortran_text(contract_status_name(int(status, c_int)))
  end function

  !> The version of the library that runs, such as '0.1.0'.
  function tailrace_version() result(text)
    character(:), allocatable :: text

    text = fortran_text(contract_version())
  end function

  !> Begins a named phase of the program in the log of a recorded run; the matching tailrace_phase_end ends it.
  subroutine tailrace_phase_begin(name)
    character(*), intent(in) :: name
    integer(c_int) :: always_ok

    always_ok = contract_phase_begin(terminated(name))
  end subroutine

  !> Ends the phase that was begun last.
  subroutine tailrace_phase_end()
    integer(c_int) :: always_ok

    always_ok = contract_phase_end()
  end subroutine

  !> Reports a failure that Fortran finds before C is called. A step in progress then fails on all ranks: otherwise only this rank
  !> would know that its data is missing.
  subroutine refuse(refused_with, text, status, of)
    integer(c_int), intent(in) :: refused_with
    character(*), intent(in) :: text
    integer(c_int), intent(out) :: status
    type(caller), intent(in) :: of

    if (of_reader(of)) then
      status = contract_refuse_read(of%handle, refused_with, terminated(text))
    else
      status = contract_refuse_step(of%handle, refused_with, terminated(text))
    end if
  end subroutine

  !> Ends every procedure: returns the status to the caller, or prints the text to the error unit and stops. `stop 1` does not call
  !> MPI_Finalize and exits with a status that is not 0, so that mpirun ends the other ranks. `error stop` adds some 20 lines of
  !> backtrace for each rank, between which the text is lost; the text names the call.
  subroutine finish(procedure_name, what, status, error)
    character(*), intent(in) :: procedure_name, what
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: error

    if (present(error)) then
      error = int(status)
    else if (status /= TAILRACE_OK) then
      write (error_unit, '(a)') trim(procedure_name // ' ' // what) // ': ' // tailrace_status_name(int(status)) // ': ' // &
        tailrace_error_message()
      flush (error_unit)
      stop 1, quiet=.true.
    end if
  end subroutine

  !> The text as a C string: without trailing blanks, with a zero byte at its end. C would end the text at a zero byte within it, so
  !> such a byte becomes the bytes C0 80, which the contract refuses.
  pure function terminated(text) result(characters)
    character(*), intent(in) :: text
    character(kind=c_char) :: characters(terminated_bytes(text))
    integer :: i, at

    at = 0
    do i = 1, len_trim(text)
      at = at + 1
      characters(at) = text(i:i)
      if (text(i:i) == c_null_char) then
        characters(at:at + 1) = [char(192), char(128)]
        at = at + 1
      end if
    end do
    characters(size(characters)) = c_null_char
  end function

  !> The length of the result of terminated().
  pure integer function terminated_bytes(text)
    character(*), intent(in) :: text
    integer :: i

    terminated_bytes = len_trim(text) + 1
    do i = 1, len_trim(text)
      if (text(i:i) == c_null_char) terminated_bytes = terminated_bytes + 1
    end do
  end function

  function fortran_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i

    if (.not. c_associated(address)) then
      text = ''
      return
    end if
    call c_f_pointer(address, characters, [contract_strlen(address)])
    allocate (character(size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  pure function decimal(number) result(text)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(20) :: digits

    write (digits, '(i0)') number
    text = trim(digits)
  end function

  pure function decimal_list(numbers) result(text)
    integer(c_int64_t), intent(in) :: numbers(:)
    character(:), allocatable :: text
    integer :: i

    text = '('
    do i = 1, size(numbers)
      if (i > 1) text = text // ', '
      text = text // decimal(numbers(i))
    end do
    text = text // ')'
  end function
end module
