!> A variable's type and shape, as the C contract returns them. C takes untyped pointers, so type and rank of an array are checked
!> here.
module tailrace_definitions
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_contract, only: contract_get_definitions, contract_inquire_dim_id, contract_inquire_var_id, &
    contract_inquire_var_info, contract_read_definitions, contract_var_info, same_width_signed, type_name, &
    TAILRACE_BAD_ARGUMENT, TAILRACE_BAD_SHAPE, TAILRACE_OK, TAILRACE_RAGGED
  use tailrace_message, only: caller, decimal, of_reader, refuse, terminated
  implicit none
  private
  public :: known_variable, inquire, check_type, check_type_and_rank, is_ragged, number_of_dim

  !> A variable of a stream or reader.
  type :: known_variable
    integer(c_int) :: element_type = -1, flags = 0
    integer(c_int), allocatable :: dims(:)        ! numbers of its dimensions, fastest first
    integer(c_int64_t), allocatable :: extent(:)  ! lengths, fastest dimension first; not allocated: there is no such variable
  end type

contains

  !> Looks a variable up; `status` is that of C. If there is no such variable, the checks pass: the call itself then fails in C,
  !> with C's message.
  subroutine inquire(of, var, variable, status)
    type(caller), intent(in) :: of
    character(*), intent(in) :: var
    type(known_variable), intent(out) :: variable
    integer(c_int), intent(out) :: status
    type(contract_var_info) :: info
    type(c_ptr) :: definitions
    integer(c_int) :: number

    call get_definitions(of, definitions, status)
    if (status == TAILRACE_OK) status = contract_inquire_var_id(definitions, terminated(var), number)
    if (status == TAILRACE_OK) status = contract_inquire_var_info(definitions, number, info)
    if (status /= TAILRACE_OK) return
    variable%element_type = info%element_type
    variable%flags = info%flags
    variable%dims = info%dims(info%ndims:1:-1)
    variable%extent = info%shape(info%ndims:1:-1)
  end subroutine

  subroutine get_definitions(of, definitions, status)
    type(caller), intent(in) :: of
    type(c_ptr), intent(out) :: definitions
    integer(c_int), intent(out) :: status

    if (of_reader(of)) then
      status = contract_read_definitions(of%handle, definitions)
    else
      status = contract_get_definitions(of%handle, definitions)
    end if
  end subroutine

  !> The number of the variable's dimension with this name, counted from 1, fastest first; 0: none.
  function number_of_dim(of, variable, name) result(dim)
    type(caller), intent(in) :: of
    type(known_variable), intent(in) :: variable
    character(*), intent(in) :: name
    integer :: dim
    type(c_ptr) :: definitions
    integer(c_int) :: number, status

    dim = 0
    call get_definitions(of, definitions, status)
    if (status == TAILRACE_OK) status = contract_inquire_dim_id(definitions, terminated(name), number)
    ! If a variable has a dimension twice, C uses the slowest one.
    if (status == TAILRACE_OK) dim = findloc(variable%dims, number, dim=1, back=.true.)
  end function

  !> Whether an array of this type fits the variable: signed integers also fit unsigned ones of equal width.
  subroutine check_type(of, var, variable, element_type, status)
    type(caller), intent(in) :: of
    character(*), intent(in) :: var
    type(known_variable), intent(in) :: variable
    integer(c_int), intent(in) :: element_type
    integer(c_int), intent(out) :: status
    character(:), allocatable :: remedy

    status = TAILRACE_OK
    if (.not. allocated(variable%extent)) return
    if (same_width_signed(variable%element_type) == element_type) return
    remedy = "; convert it or define the variable so"
    if (of_reader(of)) remedy = "; read it into an array of its own type"
    call refuse(TAILRACE_BAD_ARGUMENT, "'" // trim(var) // "' holds " // type_name(variable%element_type) // ", the array is " // &
      type_name(element_type) // remedy, status, of)
  end subroutine

  subroutine check_type_and_rank(of, var, variable, element_type, ndims, status)
    type(caller), intent(in) :: of
    character(*), intent(in) :: var
    type(known_variable), intent(in) :: variable
    integer(c_int), intent(in) :: element_type
    integer, intent(in) :: ndims
    integer(c_int), intent(out) :: status

    call check_type(of, var, variable, element_type, status)
    if (status /= TAILRACE_OK .or. .not. allocated(variable%extent)) return
    if (size(variable%extent) /= ndims) &
      call refuse(TAILRACE_BAD_SHAPE, "'" // trim(var) // "' has " // decimal(size(variable%extent, kind=int64)) // &
        " dimensions, the array has rank " // decimal(int(ndims, int64)) // "; hand over an array of the variable's rank", &
        status, of)
  end subroutine

  !> Whether the slowest dimension of a variable has another length in every step.
  pure function is_ragged(variable)
    type(known_variable), intent(in) :: variable
    logical :: is_ragged
    integer :: n

    is_ragged = .false.
    if (.not. allocated(variable%extent)) return
    n = size(variable%extent)
    if (n > 0) is_ragged = variable%extent(n) == TAILRACE_RAGGED
  end function
end module
