!> What a stream's dimensions and variables were defined as: the C contract's untyped pointers cannot be checked by C.
module tailrace_definitions
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_contract, only: same_width_signed, type_name, TAILRACE_BAD_ARGUMENT, TAILRACE_BAD_SHAPE, TAILRACE_OK, &
    TAILRACE_RAGGED
  use tailrace_message, only: decimal, refuse
  implicit none
  private
  public :: definition_list, start_definitions, remember_dim, remember_variable, check_type_and_rank, variable_index, is_ragged

  type :: dimension_record
    character(:), allocatable :: name
    integer(c_int64_t) :: length = 0
  end type

  type :: variable_record
    character(:), allocatable :: name
    integer(c_int) :: element_type = -1
    integer(c_int64_t), allocatable :: extent(:)  ! fastest dimension first
  end type

  type :: definition_list
    type(dimension_record), allocatable :: dims(:)
    type(variable_record), allocatable :: vars(:)
  end type

contains

  subroutine start_definitions(list)
    type(definition_list), intent(out) :: list

    allocate (list%dims(0), list%vars(0))
  end subroutine

  ! Records are moved one by one: gfortran 12 leaks the text of records in an array constructor.
  subroutine remember_dim(list, name, length)
    type(definition_list), intent(inout) :: list
    character(*), intent(in) :: name
    integer(int64), intent(in) :: length
    type(dimension_record), allocatable :: longer(:)
    integer :: i, n

    n = size(list%dims)
    allocate (longer(n + 1))
    do i = 1, n
      call move_alloc(list%dims(i)%name, longer(i)%name)
      longer(i)%length = list%dims(i)%length
    end do
    longer(n + 1)%name = trim(name)
    longer(n + 1)%length = length
    call move_alloc(longer, list%dims)
  end subroutine

  subroutine remember_variable(list, name, element_type, dims)
    type(definition_list), intent(inout) :: list
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: element_type
    character(*), intent(in), optional :: dims(:)
    type(variable_record), allocatable :: longer(:)
    integer :: i, n

    n = size(list%vars)
    allocate (longer(n + 1))
    do i = 1, n
      call move_alloc(list%vars(i)%name, longer(i)%name)
      call move_alloc(list%vars(i)%extent, longer(i)%extent)
      longer(i)%element_type = list%vars(i)%element_type
    end do
    longer(n + 1)%name = trim(name)
    longer(n + 1)%element_type = element_type
    longer(n + 1)%extent = dim_lengths(list, dims)
    call move_alloc(longer, list%vars)
  end subroutine

  function dim_lengths(list, dims) result(lengths)
    type(definition_list), intent(in) :: list
    character(*), intent(in), optional :: dims(:)
    integer(c_int64_t), allocatable :: lengths(:)
    integer :: i, j

    allocate (lengths(0))
    if (.not. present(dims)) return
    do i = 1, size(dims)
      do j = 1, size(list%dims)
        if (list%dims(j)%name == dims(i)) lengths = [lengths, list%dims(j)%length]
      end do
    end do
  end function

  !> An unknown name passes: C says so, in the words that it has for that.
  subroutine check_type_and_rank(handle, list, var, element_type, ndims, status)
    type(c_ptr), intent(in) :: handle  ! of the stream in whose step the array is refused
    type(definition_list), intent(in) :: list
    character(*), intent(in) :: var
    integer(c_int), intent(in) :: element_type
    integer, intent(in) :: ndims
    integer(c_int), intent(out) :: status
    integer :: i

    status = TAILRACE_OK
    i = variable_index(list, var)
    if (i == 0) return
    if (same_width_signed(list%vars(i)%element_type) /= element_type) then
      call refuse(TAILRACE_BAD_ARGUMENT, "'" // trim(var) // "' was defined as " // type_name(list%vars(i)%element_type) // &
        ", the array is " // type_name(element_type) // "; convert it or define the variable so", status, handle)
    else if (size(list%vars(i)%extent) /= ndims) then
      call refuse(TAILRACE_BAD_SHAPE, "'" // trim(var) // "' was defined with " // &
        decimal(size(list%vars(i)%extent, kind=int64)) // " dimensions, the array has rank " // decimal(int(ndims, int64)) // &
        "; hand over an array of the variable's rank", status, handle)
    end if
  end subroutine

  !> Whether the slowest dimension of a variable is another in every step.
  pure function is_ragged(list, var)
    type(definition_list), intent(in) :: list
    character(*), intent(in) :: var
    logical :: is_ragged
    integer :: i, n

    is_ragged = .false.
    i = variable_index(list, var)
    if (i == 0) return
    n = size(list%vars(i)%extent)
    if (n > 0) is_ragged = list%vars(i)%extent(n) == TAILRACE_RAGGED
  end function

  pure function variable_index(list, var) result(found)
    type(definition_list), intent(in) :: list
    character(*), intent(in) :: var
    integer :: found

    if (allocated(list%vars)) then
      do found = 1, size(list%vars)
        if (list%vars(found)%name == var) return
      end do
    end if
    found = 0
  end function
end module
